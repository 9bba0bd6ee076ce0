"""The command line of a tabveil in an environment of its own, for programs whose pins differ.

Any language that can start a program can do the same: write a CSV file and a schema, run `tabveil
fit`, run `tabveil sample`, read a CSV file. The exit code says how it went: 0 done, 1 a mistake
that one line explains, 3 refused because it would spend more privacy than is left.
"""

import json
import os
import shutil
import subprocess
import tempfile
import weakref
from pathlib import Path
from typing import Any

import pandas as pd

TABVEIL = os.environ.get("TABVEIL", "tabveil")  # where that command is


class Refused(Exception):
    """What the command line said instead of doing it."""


class Fitted:
    """A release in a folder, fitted once; drawing rows is free."""

    def __init__(
        self, frame: pd.DataFrame, schema: dict[str, Any], epsilon: float, *options: str
    ) -> None:
        self._place = place = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        frame.to_csv(place / "rows.csv", index=False)
        (place / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
        words = ["fit", "rows.csv", "--schema", "schema.json", "--epsilon", str(epsilon)]
        self._run(*words, *options, "-o", "release")
        (place / "rows.csv").unlink()
        self.privacy = json.loads((place / "release" / "privacy.json").read_text(encoding="utf-8"))

    def sample(self, rows: int, seed: int = 0) -> pd.DataFrame:
        """So many synthetic rows."""
        with tempfile.TemporaryDirectory(dir=self._place) as folder:
            file = Path(folder) / "drawn.csv"
            self._run("sample", "release", "-n", str(rows), "--seed", str(seed), "-o", str(file))
            return pd.read_csv(file)

    def _run(self, *words: str) -> None:
        ended = subprocess.run([TABVEIL, *words], cwd=self._place, capture_output=True, text=True)
        if ended.returncode:
            raise Refused(ended.stderr.strip())
