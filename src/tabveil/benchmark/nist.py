"""NIST's evaluator of de-identified tables, SDNist 2.5, with its own scores and its own report."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pandas as pd

from tabveil.datasets.prepared import file_in, folder_of_tables
from tabveil.errors import InvalidInput, TabveilError
from tabveil.machine.environments import environment_variables, make_environment, python_of

SCRIPT = Path(__file__).with_name("nist_script.py")
PLACES = {"national2019": "national", "ma2019": "massachusetts", "tx2019": "texas"}
EXCERPTS = Path("BenchmarkData", "ACSDataExcerpts")


@dataclass(frozen=True)
class SdNist:
    """Scores of SDNist's own classes, and the report that it gives out.

    Its propensity score comes from a decision tree without a seed, so it is drawn several times;
    all else that is scored here comes out the same every time.
    """

    title: ClassVar[str] = "SDNist 2.5"
    dataset: ClassVar[str] = "nist"  # the only one that it knows

    draws: int = 5
    report: int = 12  # columns at most; of 24, the privacy part of a report takes over an hour

    def get_ready(
        self, out: Path, data: Path | None, copy: Path | None, excerpts: set[str]
    ) -> None:
        """Make its environment, once, and a folder with its code books and the tables at hand."""
        place = repository(copy)
        if not python_of("sdnist").exists():
            make_environment("sdnist", [str(place)], self.title)
        books = out / EXCERPTS
        shutil.copytree(
            place / EXCERPTS, books, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.csv")
        )
        for excerpt in excerpts:
            if excerpt not in PLACES:
                raise InvalidInput(
                    f"{self.title} knows no excerpt {excerpt}.",
                    f"Choose from: {', '.join(PLACES)}.",
                )
            table = file_in(folder_of_tables(data), f"nist_{excerpt}.csv")
            shutil.copyfile(table, books / PLACES[excerpt] / f"{excerpt}.csv")

    def scores(
        self, rows: pd.DataFrame, excerpt: str, out: Path, name: str
    ) -> tuple[Mapping[str, float], str | None]:
        """What it says of synthetic rows, and where in `out` its report lies, if there is one."""
        report, with_report = Path("reports", name), len(rows.columns) <= self.report
        if with_report:
            shutil.rmtree(out / report, ignore_errors=True)
            (out / report).mkdir(parents=True)
        # Mode 0700: the rows of a reference are real ones.
        with tempfile.TemporaryDirectory(prefix="tabveil-sdnist-") as folder:
            made, found = Path(folder, f"{name}.csv"), Path(folder, "scores.json")
            rows.to_csv(made, index=False)
            asked = [made, excerpt, (out / EXCERPTS.parent).resolve(), found, self.draws]
            asked += [(out / report).resolve()] if with_report else []
            ended = subprocess.run(
                [str(word) for word in (python_of("sdnist"), "-W", "ignore", SCRIPT, *asked)],
                cwd=folder,
                env=environment_variables() | {"MPLBACKEND": "agg"},
            )
            if ended.returncode or not found.is_file():
                raise TabveilError(
                    f"{self.title} did not finish in its own environment.",
                    "Its own words are in the log of the cell.",
                )
            told: dict[str, float] = json.loads(found.read_text(encoding="utf-8"))
        return told, str(report / "report.html") if with_report else None


def repository(copy: Path | None) -> Path:
    """The copy of SDNist's repository that is named, or what TABVEIL_SDNIST names."""
    found = copy or os.environ.get("TABVEIL_SDNIST")
    hint = "Name a copy of github.com/usnistgov/SDNist: --sdnist DIR, or TABVEIL_SDNIST."
    if found is None:
        raise InvalidInput("SDNist is not part of this package.", hint)
    if not (Path(found) / EXCERPTS).is_dir():
        raise InvalidInput(f"{found} has no folder {EXCERPTS}.", hint)
    return Path(found)
