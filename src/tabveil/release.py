"""What leaves the building: a fitted table to sample from, its noisy answers, and what it cost."""

import json
import operator
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabveil.errors import InvalidInput
from tabveil.files import atomic_folder
from tabveil.frames import as_kind
from tabveil.measurement import Measurement
from tabveil.scale import Scale, scale_from_dict
from tabveil.schema import Schema
from tabveil.table import Codec, Table

FORMAT = 1
SLICE = 10_000_000  # numbers held at once while categories are drawn
ARRAYS = ("probabilities", "numbers", "slack")


@dataclass(frozen=True)
class Release:
    """Everything here may be published; nothing in it was computed from real rows without noise."""

    schema: Schema
    probabilities: np.ndarray  # [cells, relaxed rows]
    numbers: np.ndarray  # [numerical, relaxed rows], between 0 and 1
    slack: np.ndarray  # the room around each of these numbers, to tell copies apart
    scale: Scale  # what these numbers mean
    measurements: tuple[Measurement, ...]  # every noisy answer with its standard error
    privacy: Mapping[str, Any]  # the promise in words and numbers
    charges: list[dict[str, Any]]  # the ledger of this fit
    kind: str = "pandas"  # the kind of table that came in

    def sample(self, rows: int, *, seed: int | None = None, kind: str | None = None) -> Any:
        """Draw this many synthetic rows; costs nothing, as often as you like."""
        if isinstance(rows, bool) or not hasattr(rows, "__index__") or rows <= 0:
            raise InvalidInput(
                f"{rows} rows were asked for; the number must be 1 or more.", "Ask for e.g. 1000 rows."
            )
        rows = operator.index(rows)
        codec = Codec(self.schema)
        random = np.random.default_rng(seed)
        drawn = _copies(rows, self.probabilities.shape[1], random)
        codes = self._draw_codes(codec.domain.offsets, codec.domain.sizes, drawn, random)
        moved = self.slack[:, drawn] * (_spread(drawn, random) - 0.5)
        numbers = self.scale.numbers((self.numbers[:, drawn] + moved).T)
        order = random.permutation(rows)
        table = codec.decode(Table(codes[order], numbers[order]))
        return as_kind(table, kind or self.kind, self.schema)

    def measured(self) -> pd.DataFrame:
        """Every noisy count as a tidy table: family, query, cell, count, standard_error."""
        lines = [
            (m.family, m.query, cell, count, m.standard_error)
            for m in self.measurements
            for cell, count in zip(m.cells, m.counts, strict=True)
        ]
        return pd.DataFrame(lines, columns=["family", "query", "cell", "count", "standard_error"])

    def _draw_codes(
        self, offsets: Any, sizes: Any, drawn: np.ndarray, random: np.random.Generator
    ) -> np.ndarray:
        codes = np.zeros((len(drawn), len(sizes)), np.int32)
        for axis, (start, size) in enumerate(zip(offsets, sizes, strict=True)):
            below = np.cumsum(self.probabilities[start : start + size], axis=0, dtype=np.float64)
            level = _spread(drawn, random) * below[-1, drawn]
            for part in _slices(len(drawn), SLICE // size + 1):
                reached = (below[:, drawn[part]] <= level[part]).sum(axis=0)
                codes[part, axis] = np.minimum(reached, size - 1)
        return codes

    def save(self, path: str | Path) -> None:
        """Write a folder of JSON and npz; it appears whole or not at all."""
        with atomic_folder(path) as folder:
            _write_json(folder / "schema.json", self.schema.to_dict())
            _write_json(folder / "privacy.json", dict(self.privacy))
            _write_json(folder / "ledger.json", self.charges)
            _write_json(
                folder / "release.json", {"format": FORMAT, "kind": self.kind, "scale": self.scale.to_dict()}
            )
            _write_json(folder / "measurements.json", [asdict(m) for m in self.measurements])
            with (folder / "table.npz").open("wb") as file:
                np.savez_compressed(file, **{name: getattr(self, name) for name in ARRAYS})

    @classmethod
    def load(cls, path: str | Path) -> "Release":
        """Read a folder written by `save`, and check that it holds together."""
        folder = Path(path)
        if not (folder / "release.json").is_file():
            raise InvalidInput(f"{path} is not a release.", "Name the folder that `tabveil fit -o` wrote.")
        try:
            about = _read_json(folder / "release.json")
            schema = Schema.from_dict(_read_json(folder / "schema.json"))
            with np.load(folder / "table.npz", allow_pickle=False) as file:
                arrays = {name: np.asarray(file[name], np.float32) for name in ARRAYS}
            release = cls(
                schema,
                **arrays,
                scale=scale_from_dict(about["scale"], schema),
                measurements=tuple(
                    Measurement(**{**m, "cells": tuple(m["cells"]), "counts": tuple(m["counts"])})
                    for m in _read_json(folder / "measurements.json")
                ),
                privacy=_read_json(folder / "privacy.json"),
                charges=_read_json(folder / "ledger.json"),
                kind=str(about["kind"]),
            )
            release._check(int(about["format"]))
        except InvalidInput:
            raise
        except Exception:
            raise InvalidInput(
                f"The release {path} is damaged.", "Copy it again, or ask its owner for another copy."
            ) from None
        return release

    def _check(self, version: int) -> None:
        domain = Codec(self.schema).domain
        rows = self.probabilities.shape[1]
        shapes = (domain.cells, rows), (len(domain.numerical), rows), (len(domain.numerical), rows)
        if version != FORMAT:
            raise InvalidInput(
                f"The release has format {version}, this version reads {FORMAT}.", "Update tabveil."
            )
        arrays = self.probabilities, self.numbers, self.slack
        right = tuple(a.shape for a in arrays) == shapes and rows > 0
        inside = all(np.isfinite(a).all() and (a >= 0).all() and (a <= 1.001).all() for a in arrays)
        if not (right and inside and self.scale.fits(len(domain.numerical))):
            raise InvalidInput(
                "The release does not match its own schema.",
                "Copy it again, or ask its owner for another copy.",
            )


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _slices(length: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, length, size)]


def _copies(rows: int, available: int, random: np.random.Generator) -> np.ndarray:
    """Which relaxed row each synthetic row comes from: each equally often, the rest at random."""
    whole, rest = divmod(rows, available)
    return np.sort(
        np.concatenate([np.repeat(np.arange(available), whole), random.permutation(available)[:rest]])
    )


def _spread(drawn: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A uniform number per synthetic row, spread evenly over the copies of one relaxed row.

    Copies then take each category as often as its probability says, up to rounding, not by luck.
    """
    shuffled = random.permutation(len(drawn))
    order = shuffled[np.argsort(drawn[shuffled], kind="stable")]
    first = np.searchsorted(drawn, drawn, "left")
    copies = np.searchsorted(drawn, drawn, "right") - first
    rank = np.empty(len(drawn))
    rank[order] = np.arange(len(drawn)) - first
    return (rank + random.random(len(drawn))) / copies
