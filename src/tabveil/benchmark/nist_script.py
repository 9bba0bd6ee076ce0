"""Scores of one file by SDNist's own classes, as JSON, and its report; runs where it is installed.

python nist_script.py FILE.csv EXCERPT BENCHMARK_DATA SCORES.json DRAWS [REPORT]

EXCERPT is ma2019, tx2019 or national2019. Their propensity score is a tree that is grown without a
seed: it is grown DRAWS times, and the mean, the least and the largest score are told. REPORT is a
folder for the official report.
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
from sdnist.metrics.pearson_correlation import PearsonCorrelationDifference
from sdnist.metrics.propensity import PropensityMSE
from sdnist.report.__main__ import run
from sdnist.report.dataset import Dataset

# Columns that are not codes: combinations are counted over all others.
AMOUNTS = ["AGEP", "DENSITY", "INDP", "PINCP", "POVPIP", "PWGTP", "WGTP"]


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


def combinations(rows: pd.DataFrame) -> int:
    """How many different people there are, by the columns that are codes."""
    return len(rows[[c for c in rows if c not in AMOUNTS]].astype(str).drop_duplicates())


def tables(data: Dataset) -> dict[str, float]:
    """K-marginal, single columns, income given education, correlations."""
    real, drawn = data.d_target_data, data.d_synthetic_data
    group = "PUMA" if "PUMA" in real else None
    marginals = KMarginal(real, drawn, group)
    found = {"k_marginal": float(marginals.compute_score())}
    if group:
        found["worst_puma"] = float(marginals.scores.min())
    single = {f"univariate of {c}": variation(real[c], drawn[c]) for c in real}
    found |= {"univariate": sum(single.values()) / len(single), **single}
    if {"EDU", "PINCP_DECILE"} <= set(real):
        here, there = map(deciles_given_education, (real, drawn))
        here, there = here.align(there, fill_value=0)
        found["decile_given_edu"] = float((here - there).abs().sum(axis=1).mean() / 2)
    return found


def correlations(data: Dataset) -> dict[str, float]:
    """The mean difference of Pearson correlations, as their report shows it pair by pair."""
    compared = PearsonCorrelationDifference(
        data.t_target_data, data.t_synthetic_data, data.corr_features
    )
    compared.compute()
    return {"pearson_difference": float(compared.pp_corr_diff.abs().stack().mean())}


def propensity(data: Dataset, draws: int) -> dict[str, float]:
    """Their propensity score, as often as asked."""
    found = []
    for _ in range(draws):
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder)
            score = PropensityMSE(data.t_target_data, data.t_synthetic_data, files, data.features)
            found.append(float(score.compute_score()))
    least, most = min(found), max(found)
    return {"pmse": sum(found) / draws, "pmse_least": least, "pmse_most": most}


def inconsistencies(data: Dataset) -> dict[str, float]:
    """Rows that cannot be, by their rules."""
    with tempfile.TemporaryDirectory() as folder:
        broken = Inconsistencies(data.c_synthetic_data, Path(folder))
        broken.compute()
    return {
        f"inconsistent_{kind}": sum(int(entry[3].split()[0]) for entry in broken.stats[kind])
        for kind in ("age", "work", "housing")
    }


def main() -> None:
    warnings.simplefilter("ignore")
    made, excerpt, root = Path(sys.argv[1]), TestDatasetName[sys.argv[2]], Path(sys.argv[3])
    data = Dataset(made, Silent(), excerpt, root, False)
    found = tables(data) | correlations(data) | inconsistencies(data)
    found |= propensity(data, int(sys.argv[5]))
    found |= {
        "combinations": combinations(data.c_synthetic_data) / combinations(data.c_target_data)
    }
    Path(sys.argv[4]).write_text(json.dumps(found), encoding="utf-8")
    if len(sys.argv) > 6:
        run(made, Path(sys.argv[6]), excerpt, root, None, False, False)


if __name__ == "__main__":
    main()
