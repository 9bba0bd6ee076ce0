"""How long the screens of the studio take with 200 columns, and what the extra weighs.

    python benchmarks/studio.py [--columns 200] [--times 20]

Prints for every screen the median and the worst time from the request to the last byte, and the
packages that the extra brings beyond those that tabveil needs anyway.
"""

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path
from urllib.parse import urlencode

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SCREENS = (
    "table", "columns", "columns/100", "plan", "plan/picture?epsilon={epsilon}", "ledger", "run",
    "release",
)  # fmt: skip


def rules(columns: int) -> dict[str, dict[str, object]]:
    """Made-up columns: two thirds are lists of 2 to 13 values, the others are numbers."""
    kinds: list[dict[str, object]] = [
        {"type": "numerical", "min": 0, "max": 100 + number, "decimals": 0}
        if number % 3 == 0
        else {"type": "categorical", "values": [f"v{v}" for v in range(2 + number % 12)]}
        for number in range(columns)
    ]
    return {f"column_{number}": rule for number, rule in enumerate(kinds)}


class Guest:
    """One browser that was let in, on one connection."""

    def __init__(self, link: str) -> None:
        place = re.fullmatch(r"http://([\d.]+:\d+)(/.*)", link)
        assert place
        self.host = place[1]
        self.connection = http.client.HTTPConnection(self.host)
        self.connection.request("GET", place[2])
        answer = self.connection.getresponse()
        answer.read()
        self.cookie = answer.headers["set-cookie"].split(";")[0]

    def ask(self, method: str, path: str, **fields: str) -> tuple[float, int, int]:
        """Seconds, status and bytes."""
        headers = {"Cookie": self.cookie, "Origin": f"http://{self.host}"}
        began = time.perf_counter()
        self.connection.request(method, path, urlencode(fields).encode(), headers)
        answer = self.connection.getresponse()
        size = len(answer.read())
        return time.perf_counter() - began, answer.status, size


def measure(columns: int, times: int) -> None:
    """Start a studio on a table of so many columns, and ask it for every screen."""
    with tempfile.TemporaryDirectory() as folder:
        names = rules(columns)
        (Path(folder) / "wide.csv").write_text(
            ",".join(names) + "\n" + ",".join("1" * columns) + "\n"
        )
        studio = subprocess.Popen(
            [sys.executable, "-m", "tabveil", "studio", "wide.csv", "--no-browser"],
            cwd=folder, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert studio.stdout
        guest = Guest(re.findall(r"http://\S+", studio.stdout.readline())[0])
        file = Path(folder) / "tabveil-studio" / "wide" / "studio.json"
        state = json.loads(file.read_text())
        state["draft"]["columns"], state["people"] = names, "one"
        file.write_text(json.dumps(state))
        busy = os.getloadavg()[0]
        print(
            f"{columns} columns, {times} times each; milliseconds; load of the machine {busy:.1f}"
        )
        for screen in SCREENS:
            show(
                screen,
                [
                    guest.ask("GET", f"/wide/{screen.format(epsilon=0.05 * 400 ** (n / times))}")
                    for n in range(times)
                ],
            )
        saved = [
            guest.ask(
                "POST", "/wide/columns/0", version=str(state["version"] + n), type="numerical",
                min="0", max=str(100 + n), decimals="0", then="list",
            )
            for n in range(times)
        ]  # fmt: skip
        show("saving a column", saved)
        studio.terminate()
        studio.wait()


def show(what: str, answers: list[tuple[float, int, int]]) -> None:
    """One line."""
    seconds, statuses, sizes = zip(*answers, strict=True)
    assert set(statuses) <= {200, 303}, statuses
    middle, worst = statistics.median(seconds) * 1000, max(seconds) * 1000
    print(f"{what:32} median {middle:7.1f}   worst {worst:7.1f}   {sizes[-1] / 1000:7.1f} kB")


def weigh() -> None:
    """The packages of the extra, and their size on disk."""
    added = sorted(needed(["tabveil"], "studio") - needed(["tabveil"], ""))
    size = sum(
        path.stat().st_size
        for name in added
        for file in distribution(name).files or ()
        if (path := Path(str(file.locate()))).is_file()
    )
    print(f"the extra adds {size / 1e6:.1f} MB: {', '.join(added)}")


def needed(names: Iterable[str], extra: str) -> set[str]:
    """All installed packages that these need, with an extra of theirs."""
    found: set[str] = set()
    waiting = [(name, extra) for name in names]
    while waiting:
        name, extra = waiting.pop()
        try:
            listed = map(Requirement, requires(name) or ())
        except PackageNotFoundError:
            continue
        found.add(canonicalize_name(name))
        for one in listed:
            known = canonicalize_name(one.name) in found
            if not known and (one.marker is None or one.marker.evaluate({"extra": extra})):
                waiting += [(one.name, part) for part in one.extras or {""}]
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--times", type=int, default=20)
    asked = parser.parse_args()
    measure(asked.columns, asked.times)
    weigh()
