"""What this machine offers is asked in one place."""

import os

import pytest

from tabveil.errors import InvalidInput
from tabveil.machine.packages import required
from tabveil.machine.processors import cores, keep_to, processors


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no affinity")
def test_only_the_cores_that_this_process_may_use_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5, 2})
    assert processors() == [2, 5] and cores() == 2


def test_where_the_system_does_not_say_all_cores_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("sched_getaffinity", "sched_setaffinity"):
        monkeypatch.delattr(os, name, raising=False)
    for found, expected in ((3, 3), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda found=found: found)
        assert cores() == expected
    keep_to({0})  # nothing to do, and nothing that fails


def test_a_package_that_is_not_there_is_named_with_its_extra() -> None:
    with pytest.raises(InvalidInput) as told:
        required("no_such.part", "bench", "Flying needs")
    assert told.value.message == "Flying needs the package no-such, which is not installed."
    assert told.value.hint == "Install it with: pip install 'tabveil[bench]'"
    assert required("os.path", "bench") is os.path
