"""Scores of one file by SDNist's own classes, as JSON; runs where SDNist 2.5 is installed.

python nist_scores.py FILE.csv BENCHMARK_DATA
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import pandas as pd
from sdnist.load import TestDatasetName
from sdnist.metrics.inconsistency import Inconsistencies
from sdnist.metrics.kmarginal import KMarginal
from sdnist.report.dataset import Dataset


class Silent:
    """SDNist logs to an object."""

    def msg(self, *_: object, **__: object) -> None: ...

    def end_msg(self, *_: object, **__: object) -> None: ...


def variation(one: pd.Series, other: pd.Series) -> float:
    """Total variation of two columns."""
    shares = [column.value_counts(normalize=True) for column in (one, other)]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


def deciles_given_education(rows: pd.DataFrame) -> pd.DataFrame:
    """The distribution of income deciles at each level of education."""
    known = rows[rows.PINCP_DECILE.astype(str) != "N"]
    return pd.crosstab(known.EDU, known.PINCP_DECILE, normalize="index")


def main() -> None:
    warnings.simplefilter("ignore")
    made, root = map(Path, sys.argv[1:3])
    data = Dataset(made, Silent(), TestDatasetName.national2019, root, False)
    real, drawn = data.d_target_data, data.d_synthetic_data
    group = "PUMA" if "PUMA" in real else None
    marginals = KMarginal(real, drawn, group)
    found = {"k_marginal": round(marginals.compute_score(), 1)}
    if group:
        found["worst_puma"] = round(float(marginals.scores.min()), 1)
    found["univariate"] = round(
        sum(variation(real[c], drawn[c]) for c in real) / len(real.columns), 5
    )
    here, there = deciles_given_education(real).align(deciles_given_education(drawn), fill_value=0)
    found["decile_given_edu"] = round(float((here - there).abs().sum(axis=1).mean() / 2), 4)
    broken = Inconsistencies(data.c_synthetic_data, Path(tempfile.mkdtemp()))
    broken.compute()
    found["inconsistent"] = {
        kind: sum(int(entry[3].split()[0]) for entry in broken.stats[kind])
        for kind in ("age", "work", "housing")
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
