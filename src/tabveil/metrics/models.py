"""Whether models can learn from synthetic rows: train on them, test on real rows not trained on.

scikit-learn takes over a second to import, so it is imported only where a model is trained.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tabveil.metrics.choices import some_rows
from tabveil.metrics.comparison import Comparison, Score
from tabveil.tables.table import Table

TRAINING_ROWS = 40_000
# Newton's method builds a features × features matrix:
# quick for narrow tables, hopeless for very wide ones.
NEWTON_WIDTH = 600
# Boosted trees treat at most this many categories as unordered (a limit of scikit-learn).
TREE_CATEGORIES = 255

Features = NDArray[np.float64]
Labels = NDArray[np.int32]


class Model(Protocol):
    """What we need of a scikit-learn classifier."""

    def fit(self, features: Features, labels: Labels) -> object:
        """Learn from rows and labels."""

    def predict(self, features: Features) -> Labels:
        """The label of each row."""


@dataclass(frozen=True)
class Learner:
    """A kind of model: what its scores are called, how it sees a table, and a fresh one."""

    name: str
    features: Callable[[Comparison, Table], Features]
    model: Callable[[Comparison], Model]


def scores(comparison: Comparison) -> list[Score]:
    """Macro F1 of logistic regression and boosted trees per target; references: from real rows."""
    columns = len(comparison.features) + len(comparison.domain.numerical)
    if comparison.test is None or not comparison.targets or not columns:
        return []
    names = [comparison.domain.axes[target].name for target in comparison.targets]
    found = []
    for learner in LEARNERS:
        values = f1_by_target(learner, comparison, comparison.synthetic, comparison.test)
        scores = [
            *(Score(f"{learner.name}_by_target", *row) for row in zip(names, values, strict=True)),
            Score(learner.name, "mean", float(np.mean(values))),
        ]
        if comparison.references:
            reached = f1_by_target(learner, comparison, comparison.real, comparison.test)
            reached.append(float(np.mean(reached)))
            scores = [replace(s, reference=r) for s, r in zip(scores, reached, strict=True)]
        found += scores
    return found


def f1_by_target(
    learner: Learner, comparison: Comparison, training: Table, test: Table
) -> list[float]:
    """For each target, how well a model trained on some rows labels the test rows."""
    training = some_rows(training, TRAINING_ROWS, comparison.seed)
    seen, unseen = learner.features(comparison, training), learner.features(comparison, test)
    return [
        macro_f1(
            truth=test.codes[:, target],
            labels=predicted(learner.model(comparison), seen, training.codes[:, target], unseen),
        )
        for target in comparison.targets
    ]


def predicted(model: Model, features: Features, labels: Labels, unseen: Features) -> Labels:
    """The model's labels for unseen rows; where training rows know one label only, that label."""
    if len(np.unique(labels)) == 1:
        return np.full(len(unseen), labels[0])
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # One thread: the same score on every machine,
    # and boosted trees stall where threads wait for busy cores.
    with threadpool_limits(1), warnings.catch_warnings():
        # A table that no line separates well is a poor score, not a fault to report.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        model.fit(features, labels)
        return model.predict(unseen)


def macro_f1(truth: Labels, labels: Labels) -> float:
    """The mean over classes of the harmonic mean of precision and recall."""
    from sklearn.metrics import f1_score

    return float(f1_score(truth, labels, average="macro", zero_division=0.0))


def logistic_regression(comparison: Comparison) -> Model:
    """One logistic regression per class (a single one for two classes)."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    width = sum(comparison.domain.sizes[axis] for axis in comparison.features) + len(
        comparison.domain.numerical
    )
    solver = "newton-cholesky" if width <= NEWTON_WIDTH else "lbfgs"
    return OneVsRestClassifier(LogisticRegression(solver=solver, max_iter=200))


def boosted_trees(comparison: Comparison) -> Model:
    """Gradient-boosted trees with scikit-learn's settings, categories unordered."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    sizes = [comparison.domain.sizes[axis] for axis in comparison.features]
    unordered = [size <= TREE_CATEGORIES for size in sizes] + [False] * len(
        comparison.domain.numerical
    )
    # No early stopping: its split of the rows fails on a class with a single row.
    return HistGradientBoostingClassifier(
        categorical_features=unordered, early_stopping=False, random_state=comparison.seed
    )


def onehot_features(comparison: Comparison, table: Table) -> Features:
    """Categories as zeros and ones, numbers scaled to the range of the real rows."""
    low, high = comparison.real.numbers.min(axis=0), comparison.real.numbers.max(axis=0)
    scaled = (table.numbers - low) / np.where(high > low, high - low, 1.0)
    sizes = comparison.domain.sizes
    blocks = [table.codes[:, axis, None] == np.arange(sizes[axis]) for axis in comparison.features]
    return np.hstack([*blocks, scaled]).astype(np.float64)


def coded_features(comparison: Comparison, table: Table) -> Features:
    """Categories as codes, numbers as they are."""
    return np.hstack([table.codes[:, list(comparison.features)], table.numbers]).astype(np.float64)


LEARNERS = (
    Learner("f1_linear", onehot_features, logistic_regression),
    Learner("f1_trees", coded_features, boosted_trees),
)
