"""Anonymeter's attacks on synthetic rows, in an environment of its own: how often each of them was
right.

    python anonymeter_risks.py SECRET FOLDER ...

Each folder holds train, control and synthetic.parquet; what was found is written there, to
anonymeter.json. It attacks members and, as control, as many people who were not in the table."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator
from anonymeter.evaluators.singling_out_evaluator import (
    multivariate_singling_out_queries,
    univariate_singling_out_queries,
)

COLUMNS = 4  # in a question that shall single someone out
MOST_ATTEMPTS = 2_000
warnings.simplefilter(
    "ignore"
)  # that an attack is no better than guessing is a result, not a mistake


def attacked(folder: Path, secret: str) -> dict[str, dict[str, int]]:
    """How many attacks there were, and how many succeeded on members and on others."""
    tables = [plain(folder / f"{name}.parquet") for name in ("train", "control", "synthetic")]
    names = {
        name: f"c{place}" for place, name in enumerate(tables[0])
    }  # its questions cannot quote a dash
    train, control, synthetic = (table.rename(columns=names) for table in tables)
    size = min(len(train), len(control))
    train, control, synthetic = (
        table.sample(size, random_state=0) for table in (train, control, synthetic)
    )
    order = [name for name in train if name != names[secret]]
    # Its evaluator of singling out divides by the questions asked for, also where rows yield fewer
    # of them.
    seen, random = pl.from_pandas(synthetic).unique(), np.random.default_rng(0)
    single = {
        "alone": univariate_singling_out_queries(seen, size, random),
        "together": multivariate_singling_out_queries(seen, size, COLUMNS, MOST_ATTEMPTS, random),
    }
    found = {}
    for how, questions in single.items():
        hits = [singled_out(questions, pl.from_pandas(table)) for table in (train, control)]
        found[f"singling out, {how}"] = {
            "tried": len(questions),
            "members": hits[0],
            "others": hits[1],
        }
    link = LinkabilityEvaluator(
        train,
        synthetic,
        aux_cols=(order[::2], order[1::2]),
        n_attacks=size,
        n_neighbors=1,
        control=control,
    )
    infer = InferenceEvaluator(
        train, synthetic, aux_cols=order, secret=names[secret], n_attacks=size, control=control
    )
    for how, attack in (("linkability", link), ("inference", infer)):
        results = attack.evaluate(n_jobs=1).results()
        found[how] = {
            "tried": size,
            "members": int(results.n_success),
            "others": int(results.n_control),
        }
    return found


def plain(file: Path) -> pd.DataFrame:
    """Rows whose texts are plain ones: it cannot compare those that pandas keeps in a type of its
    own."""
    rows = pd.read_parquet(file)
    texts = [name for name in rows if not pd.api.types.is_numeric_dtype(rows[name])]
    return rows.astype(dict.fromkeys(texts, object))


def singled_out(questions: list[pl.Expr], rows: pl.DataFrame) -> int:
    """How many questions one row alone answers."""
    return sum(rows.filter(question).height == 1 for question in questions)


if __name__ == "__main__":
    secret, *folders = sys.argv[1:]
    for name in folders:
        (Path(name) / "anonymeter.json").write_text(json.dumps(attacked(Path(name), secret)))
