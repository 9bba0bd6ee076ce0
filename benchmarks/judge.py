"""Scores synthetic rows against real ones, apart from the code of tabveil: for comparing with other
systems.

    python benchmarks/judge.py OUT/ny synthetic.parquet

The folder is one that prepare.py made. NOT PRIVATE.
"""

import argparse
import itertools
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import f1_score

QUERIES = 4000


@dataclass(frozen=True)
class Rows:
    """A table as codes of categories, numbers between 0 and 1, and codes of targets."""

    codes: np.ndarray
    numbers: np.ndarray
    labels: np.ndarray


class Judge:
    """Knows the real rows of one folder."""

    def __init__(self, folder: Path) -> None:
        schema = yaml.safe_load((folder / "schema.yaml").read_text())
        self.columns, self.targets = schema["columns"], schema["targets"]
        kinds = {
            name: rule["type"] for name, rule in self.columns.items() if name not in self.targets
        }
        self.categorical = [name for name, kind in kinds.items() if kind == "categorical"]
        self.numerical = [name for name, kind in kinds.items() if kind == "numerical"]
        self.sizes, self.classes = (
            [len(self.columns[name]["values"]) for name in names]
            for names in (self.categorical, self.targets)
        )
        train = pd.read_parquet(folder / "train.parquet")
        numbers = train[self.numerical].to_numpy(float)
        self.low, self.high = numbers.min(0), numbers.max(0)
        self.train, self.test = (
            self.rows(train),
            self.rows(pd.read_parquet(folder / "test.parquet")),
        )

    def rows(self, frame: pd.DataFrame) -> Rows:
        numbers = frame[self.numerical].apply(pd.to_numeric).to_numpy(float)
        numbers = (numbers - self.low) / np.maximum(self.high - self.low, 1e-12)
        return Rows(self._codes(frame, self.categorical), numbers, self._codes(frame, self.targets))

    def _codes(self, frame: pd.DataFrame, names: list[str]) -> np.ndarray:
        lists = {name: [str(value) for value in self.columns[name]["values"]] for name in names}
        return np.stack(
            [pd.Categorical(frame[n].astype(str), lists[n]).codes.astype(int) for n in names], 1
        )

    def score(self, synthetic: pd.DataFrame) -> dict[str, float]:
        """Means over targets, cross-tables, queries and columns."""
        rows = self.rows(synthetic)
        linear, trees = zip(
            *(self._f1(rows, target) for target in range(len(self.targets))), strict=True
        )
        found = {
            "F1 linear": np.mean(linear),
            "F1 trees": np.mean(trees),
            "CM": self._cross_tables(rows),
        }
        random = np.random.default_rng(5)
        found |= {
            f"MM {where}": self._marginals(rows, where, random)
            for where in ("uniform", "quantiles")
        }
        found["KS"] = np.mean(
            [distance(*pair) for pair in zip(self.train.numbers.T, rows.numbers.T, strict=True)]
        )
        found["correlations"] = self._correlations(rows)
        return {name: round(float(value), 5) for name, value in found.items()}

    def _correlations(self, rows: Rows) -> float:
        """Mean difference of Pearson's coefficient over all pairs of numbers."""
        pairs = np.triu_indices(len(self.numerical), 1)
        if not len(pairs[0]):
            return 0.0
        # A column that is the same in every row has no coefficient; it is taken as 0.
        with np.errstate(invalid="ignore", divide="ignore"):
            real, found = (np.corrcoef(table.numbers.T)[pairs] for table in (self.train, rows))
        return float(np.abs(np.nan_to_num(real) - np.nan_to_num(found)).mean())

    def _f1(self, rows: Rows, target: int) -> tuple[float, float]:
        """Macro F1 on real test rows of a logistic regression and of boosted trees."""
        labels, real = rows.labels[:, target], self.test.labels[:, target]
        if len(np.unique(labels)) < 2:
            return 0.0, 0.0
        margins = [
            self._onehot(self.test) @ logistic(self._onehot(rows), labels == k)
            for k in np.unique(labels)
        ]
        guess = np.unique(labels)[np.argmax(margins, 0)]
        flat = [np.hstack([table.codes, table.numbers]) for table in (rows, self.test)]
        marks = [True] * len(self.sizes) + [False] * len(self.numerical)
        forest = HistGradientBoostingClassifier(categorical_features=marks, random_state=0).fit(
            flat[0], labels
        )
        return tuple(f1_score(real, g, average="macro") for g in (guess, forest.predict(flat[1])))

    def _onehot(self, rows: Rows) -> np.ndarray:
        hot = [np.eye(size)[codes] for size, codes in zip(self.sizes, rows.codes.T, strict=True)]
        return np.hstack([*hot, rows.numbers, np.ones((len(rows.codes), 1))])

    def _cross_tables(self, rows: Rows) -> float:
        """Mean total variation of all cross-tables of two categorical columns and a target."""

        def shares(table: Rows, i: int, j: int, target: int) -> np.ndarray:
            shape = self.sizes[i], self.sizes[j], self.classes[target]
            cells = np.ravel_multi_index(
                (table.codes[:, i], table.codes[:, j], table.labels[:, target]), shape
            )
            return np.bincount(cells, minlength=np.prod(shape)) / len(cells)

        pairs = itertools.combinations(range(len(self.sizes)), 2)
        asked = itertools.product(pairs, range(len(self.targets)))
        gaps = [
            np.abs(shares(self.train, *ij, t) - shares(rows, *ij, t)).sum() / 2 for ij, t in asked
        ]
        return float(np.mean(gaps))

    def _marginals(self, rows: Rows, where: str, random: np.random.Generator) -> float:
        """Mean error of random marginals: two numbers below thresholds, and a class."""
        slots = [(t, k) for t, size in enumerate(self.classes) for k in range(size)]
        ordered = np.sort(self.train.numbers, 0)
        errors = []
        for _ in range(QUERIES):
            i, j = random.choice(len(self.numerical), 2, replace=False)
            target, label = slots[random.integers(len(slots))]
            ends = random.random(2)
            if where == "quantiles":
                ends = [
                    ordered[int(u * (len(ordered) - 1)), c]
                    for u, c in zip(ends, (i, j), strict=True)
                ]
            one, other = (share(table, (i, j), ends, target, label) for table in (self.train, rows))
            errors.append(abs(one - other))
        return float(np.mean(errors))


def share(
    rows: Rows, columns: tuple[int, int], ends: list[float], target: int, label: int
) -> float:
    below = (rows.numbers[:, list(columns)] <= np.array(ends) + 1e-9).all(axis=1)
    return float((below & (rows.labels[:, target] == label)).mean())


def logistic(
    features: np.ndarray, labels: np.ndarray, ridge: float = 1e-3, steps: int = 20
) -> np.ndarray:
    """Weights of a logistic regression, by Newton's method."""
    weights = np.zeros(features.shape[1])
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-np.clip(features @ weights, -30, 30)))
        slope = features.T @ (chance - labels) / len(features) + ridge * weights
        curved = (features * (chance * (1 - chance))[:, None]).T @ features / len(features)
        weights -= np.linalg.solve(curved + ridge * np.eye(len(weights)), slope)
    return weights


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """The Kolmogorov–Smirnov distance of two columns."""
    points = np.unique(np.concatenate([one, other]))
    below = [
        np.searchsorted(np.sort(column), points, "right") / len(column) for column in (one, other)
    ]
    return float(np.abs(below[0] - below[1]).max())


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument(
        "synthetic", type=Path, help="a .parquet or .csv file; 20,000 rows are usual"
    )
    asked = options.parse_args()
    read = pd.read_parquet if asked.synthetic.suffix == ".parquet" else pd.read_csv
    print(json.dumps(Judge(asked.folder).score(read(asked.synthetic))))


if __name__ == "__main__":
    main()
