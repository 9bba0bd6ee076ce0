"""Where the time of one fit goes, part by part, on whatever device JAX finds.

    python benchmarks/timing.py FOLDER --epsilon 1 [--preset paper]

FOLDER holds train.parquet and schema.yaml. Run it twice: then compiled programs come from the
cache. Parts do not overlap, but "compiling" runs beside the others where a processor is free. NOT
PRIVATE."""

import time

BEGAN = time.perf_counter()

import argparse  # noqa: E402
import tempfile  # noqa: E402
import threading  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import jax  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table as Grid  # noqa: E402

import tabveil as tv  # noqa: E402
from tabveil import curator  # noqa: E402
from tabveil.fitting import device, rappp, rows  # noqa: E402
from tabveil.fitting.presets import default  # noqa: E402
from tabveil.privacy import OpenDPNoise  # noqa: E402
from tabveil.release import Release  # noqa: E402

IMPORTED = time.perf_counter()
BESIDE = "compiling, beside the others"


class Clock:
    """Seconds and calls by part; time spent in a part inside another counts for the inner one
    alone."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self.inside = threading.local()

    def watch(self, place: Any, name: str, part: str) -> None:
        """Time every call of a function or method."""
        function: Callable[..., Any] = getattr(place, name)

        def timed(*arguments: Any, **more: Any) -> Any:
            if threading.current_thread() is not threading.main_thread() and part != BESIDE:
                return function(*arguments, **more)
            stack = self.inside.__dict__.setdefault("stack", [])
            began, nested = time.perf_counter(), [0.0]
            stack.append(nested)
            found = function(*arguments, **more)
            jax.block_until_ready(found)
            stack.pop()
            took = time.perf_counter() - began
            if stack:
                stack[-1][0] += took
            self.seconds[part] = self.seconds.get(part, 0.0) + took - nested[0]
            self.calls[part] = self.calls.get(part, 0) + 1
            return found

        setattr(place, name, timed)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--epsilon", type=float, default=1.0)
    options.add_argument("--preset", default="default")
    asked = options.parse_args()
    device.set_up()

    clock = Clock()
    for place, name, part in (
        (rows.EncodedRows, "total", "reading and counting rows"),
        (rows.EncodedRows, "count", "reading and counting rows"),
        (curator.Curator, "select", "choosing (OpenDP)"),  # draws in threads of its own
        (OpenDPNoise, "gaussian", "noise (OpenDP)"),
        (default, "rehearse", BESIDE),
        (default, "learn_ranks", "rank space"),
        (rappp, "project", "projection, rounds"),
        (default, "project", "projection, end"),
        (Release, "save", "writing the release"),
        (curator, "unfolded", "cross-tables of the counts"),
        (rappp, "_shares", "counts of the synthetic table"),
    ):
        clock.watch(place, name, part)

    began = time.perf_counter()
    model = tv.RAPpp(
        tv.Schema.load(asked.folder / "schema.yaml"), asked.epsilon, preset=asked.preset
    )
    with tempfile.TemporaryDirectory() as folder:
        model.fit(asked.folder / "train.parquet", save=Path(folder) / "release")
    whole = time.perf_counter() - began

    grid = Grid(
        "part", "calls", "seconds", title=f"ε = {asked.epsilon:g} on {jax.devices()[0].device_kind}"
    )
    grid.add_row("imports", "", f"{IMPORTED - BEGAN:.2f}")
    for part, seconds in sorted(clock.seconds.items(), key=lambda item: -item[1]):
        grid.add_row(part, str(clock.calls[part]), f"{seconds:.2f}")
    in_turn = sum(clock.seconds.values()) - clock.seconds.get(BESIDE, 0.0)
    grid.add_row("everything else", "", f"{whole - in_turn:.2f}")
    grid.add_row("whole fit", "", f"{whole:.2f}")
    Console(width=100).print(grid)


if __name__ == "__main__":
    main()
