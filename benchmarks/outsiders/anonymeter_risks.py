"""Anonymeter's attacks on synthetic rows, in an environment of its own: how often each of them was right.

    python anonymeter_risks.py SECRET FOLDER ...

Each folder holds train, control and synthetic.parquet; what was found is written there, to anonymeter.json.
It attacks members and, as control, as many people who were not in the table.
"""

import json
import sys
import warnings
from pathlib import Path

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator
from anonymeter.evaluators.singling_out_evaluator import (
    multivariate_singling_out_queries,
    safe_query_counts,
    univariate_singling_out_queries,
)

COLUMNS = 4  # in a question that shall single someone out
MOST_ATTEMPTS = 2_000
warnings.simplefilter("ignore")  # that an attack is no better than guessing is a result, not a mistake


def attacked(folder: Path, secret: str) -> dict[str, dict[str, int]]:
    """How many attacks there were, and how many succeeded on members and on others."""
    tables = [pd.read_parquet(folder / f"{name}.parquet") for name in ("train", "control", "synthetic")]
    names = {name: f"c{place}" for place, name in enumerate(tables[0])}  # its questions cannot quote a dash
    train, control, synthetic = (table.rename(columns=names) for table in tables)
    size = min(len(train), len(control))
    train, control, synthetic = train[:size], control[:size], synthetic[: len(train)]
    order = [name for name in train if name != names[secret]]
    # Its evaluator of singling out divides by the questions asked for, also where rows yield fewer of them.
    single = {
        "alone": univariate_singling_out_queries(synthetic.drop_duplicates(), size),
        "together": multivariate_singling_out_queries(
            synthetic.drop_duplicates(), size, COLUMNS, MOST_ATTEMPTS
        ),
    }
    found = {}
    for how, questions in single.items():
        hits = [sum(safe_query_counts(q, table) == 1 for q in questions) for table in (train, control)]
        found[f"singling out, {how}"] = {"tried": len(questions), "members": hits[0], "others": hits[1]}
    link = LinkabilityEvaluator(
        train, synthetic, aux_cols=(order[::2], order[1::2]), n_attacks=size, n_neighbors=1, control=control
    )
    infer = InferenceEvaluator(
        train, synthetic, aux_cols=order, secret=names[secret], n_attacks=size, control=control
    )
    for how, attack in (("linkability", link), ("inference", infer)):
        results = attack.evaluate(n_jobs=1).results()
        found[how] = {"tried": size, "members": int(results.n_success), "others": int(results.n_control)}
    return found


if __name__ == "__main__":
    secret, *folders = sys.argv[1:]
    for name in folders:
        (Path(name) / "anonymeter.json").write_text(json.dumps(attacked(Path(name), secret)))
