"""A private table beside a public one, as codes alone: for systems that know categories only.

Numbers are cut at quantiles of the public table, which cost nothing, and drawn again uniformly from
their bins.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

BINS = 32


@dataclass(frozen=True)
class Category:
    """A column of listed values."""

    values: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.values)

    def codes(self, column: pd.Series) -> np.ndarray:
        return pd.Categorical(column.astype(str), self.values).codes.astype(int)

    def decoded(self, codes: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return np.array(self.values)[codes]


@dataclass(frozen=True)
class Number:
    """A column of whole numbers, in bins from each start up to the next one."""

    starts: np.ndarray
    end: int

    def __len__(self) -> int:
        return len(self.starts)

    def codes(self, column: pd.Series) -> np.ndarray:
        return np.maximum(np.searchsorted(self.starts, column.to_numpy(), "right") - 1, 0)

    def decoded(self, codes: np.ndarray, random: np.random.Generator) -> np.ndarray:
        widths = np.diff(np.append(self.starts, self.end))[codes]
        return self.starts[codes] + np.floor(random.random(len(codes)) * widths).astype(int)


def cut(public: pd.Series) -> Number:
    """At most so many bins; a value as common as a bin is a bin of its own."""
    values, counts = np.unique(public, return_counts=True)
    common = counts * BINS >= counts.sum()
    alone, below = values[common], np.cumsum(np.where(common, 0, counts))
    for wanted in range(BINS, 0, -1):
        ends = np.searchsorted(below, below[-1] * np.arange(1, wanted) / wanted, "right")
        cuts = values[np.minimum(ends, len(values) - 1)]
        starts = np.unique(np.concatenate([values[:1], alone, alone + 1, cuts]))
        starts = starts[starts <= values[-1]]
        if len(starts) <= BINS:
            break
    return Number(starts, values[-1] + 1)


def arguments(about: str | None) -> argparse.ArgumentParser:
    """What every system is told on its command line."""
    options = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path, help="with train.parquet and schema.yaml")
    options.add_argument("public", type=Path, help="a .parquet file with the same columns")
    options.add_argument("epsilon", type=float)
    options.add_argument("seed", type=int)
    options.add_argument("out", type=Path, help="a .parquet file")
    return options


class Binned:
    """Both tables of a folder as codes, and the way back."""

    def __init__(self, folder: Path, public: Path) -> None:
        schema = yaml.safe_load((folder / "schema.yaml").read_text())
        self.targets: list[str] = schema["targets"]
        known = pd.read_parquet(public)
        self.columns = {
            name: Category(tuple(map(str, rule["values"])))
            if rule["type"] == "categorical"
            else cut(known[name])
            for name, rule in schema["columns"].items()
        }
        self.public = self._codes(known)
        self.private = self._codes(pd.read_parquet(folder / "train.parquet"))

    @property
    def sizes(self) -> dict[str, int]:
        return {name: len(column) for name, column in self.columns.items()}

    def workload(self) -> list[tuple[str, str, str]]:
        """Every two columns with a target: what the judge asks, and what AIM is given here."""
        names = [name for name in self.columns if name not in self.targets]
        pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        return [(*pair, target) for pair in pairs for target in self.targets]

    def decoded(self, codes: pd.DataFrame, seed: int) -> pd.DataFrame:
        random = np.random.default_rng(seed)
        return pd.DataFrame(
            {
                name: column.decoded(codes[name].to_numpy(int), random)
                for name, column in self.columns.items()
            }
        )

    def _codes(self, frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(
            {name: column.codes(frame[name]) for name, column in self.columns.items()}
        )
