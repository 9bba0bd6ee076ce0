"""mbi's own MST, in an environment of its own, for other benchmarks.

python -m venv MST && MST/bin/pip install -r benchmarks/outsiders/requirements-mbi.txt
"""

import json
import subprocess
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

BINS = 32
SCRIPT = Path(__file__).parent / "outsiders" / "mbi_mst.py"


def bins_and_labels(rows: pd.DataFrame, numbers: Collection[str]) -> dict[str, np.ndarray]:
    """Where equally full bins of numbers begin and end, and the values of other columns."""
    return {
        name: np.unique(
            rows[name].quantile(np.arange(BINS + 1) / BINS)
            if name in numbers
            else rows[name].astype(str)
        )
        for name in rows
    }


def by_mst(
    rows: pd.DataFrame,
    known: Mapping[str, np.ndarray],
    numbers: Collection[str],
    budget: tuple[float, float],
    clone: Path,
    python: str,
) -> pd.DataFrame:
    """As many rows: of each column its values are `known`, of numbers where bins begin and end.

    Inside a bin numbers lie evenly, and whole; the last one is the largest value alone.
    """
    codes = {}
    for name, values in known.items():
        if name in numbers:
            last = len(values) - 1
            codes[name] = np.clip(np.searchsorted(values, rows[name], "right") - 1, 0, last)
        else:
            codes[name] = np.searchsorted(values, rows[name].astype(str))
    sizes = {name: len(values) for name, values in known.items()}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pd.DataFrame(codes).to_parquet(folder / "codes.parquet", index=False)
        asked = {"sizes": sizes, "epsilon": budget[0], "delta": budget[1]}
        (folder / "asked.json").write_text(json.dumps(asked))
        subprocess.run([python, str(SCRIPT), place, str(clone)], check=True)
        made = pd.read_parquet(folder / "made.parquet")
    random, found = np.random.default_rng(0), {}
    for name, values in known.items():
        place_of = made[name].to_numpy(int)
        if name in numbers:
            ends = np.append(values[1:], values[-1] + 1)  # a bin reaches up to the next edge
            width = (ends - values)[place_of]
            found[name] = np.floor(values[place_of] + random.random(len(made)) * width)
        else:
            found[name] = values[place_of]
    return pd.DataFrame(found)
