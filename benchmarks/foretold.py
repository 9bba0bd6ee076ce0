"""How near `tabveil plan` comes to what a fit then does: the mean error of tables of two columns.

    python benchmarks/foretold.py OUT/ny OUT/adult --epsilons 0.1 1 10 --seeds 2

Folders are those that prepare.py made. NOT PRIVATE."""

import argparse
from pathlib import Path

import pandas as pd

from tabveil import RAPpp, Schema
from tabveil.fitting.forecast import forecast
from tabveil.metrics import comparison_of, k_marginal


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folders", type=Path, nargs="+")
    options.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    options.add_argument("--seeds", type=int, default=1)
    asked = options.parse_args()
    print("| table | ε | measured | predicted | ratio |\n|---|---|---|---|---|")
    for folder in asked.folders:
        schema = Schema.load(folder / "schema.yaml")
        rows = pd.read_parquet(folder / "train.parquet")
        for epsilon in asked.epsilons:
            foretold = forecast(schema, epsilon, rows=len(rows)).error
            errors = [error(schema, rows, epsilon, seed) for seed in range(asked.seeds)]
            came = sum(errors) / len(errors)
            line = f"| {folder.name}, {len(rows):,} rows | {epsilon:g} | {came:.4f} |"
            print(f"{line} {foretold:.4f} | {foretold / came:.2f} |", flush=True)


def error(schema: Schema, rows: pd.DataFrame, epsilon: float, seed: int) -> float:
    """Mean total variation over pairs of columns, as `evaluate` has it."""
    synthetic = RAPpp(schema, epsilon, seed=seed).fit(rows).sample(len(rows), seed=seed)
    scores = k_marginal.scores(comparison_of(rows, synthetic, schema))
    [score] = [s.value for s in scores if (s.metric, s.subject) == ("k_marginal_2", "mean")]
    return 1 - score / 1000


if __name__ == "__main__":
    main()
