"""DP-CTGAN of smartnoise-synth in an environment of its own: its pins conflict with everyone's."""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tabveil.baselines.baseline import Baseline, Fitted
from tabveil.baselines.dpctgan_script import TOO_SMALL
from tabveil.errors import InvalidInput, TabveilError
from tabveil.machine.environments import environment_variables, make_environment, python_of
from tabveil.privacy import Budget, Relation
from tabveil.schema import Schema
from tabveil.sources import Source
from tabveil.tables.table import Codec, Table

PACKAGES = ("smartnoise-synth==1.0.8", "torch", "pyarrow", "packaging")
SCRIPT = Path(__file__).with_name("dpctgan_script.py")
DRAWN = 40_000  # rows that its process draws before it ends


@dataclass(frozen=True)
class DpCtgan(Baseline):
    """Rosenblatt et al. 2020 (OpenDP): a conditional GAN; noisy gradients train its discriminator.

    Bounds and categories come from the schema, so nothing is paid for preprocessing. It reads the
    frequencies of categories for its conditional sampler without paying; its promise is taken as it
    is given.
    """

    title: ClassVar[str] = "DP-CTGAN"
    source: ClassVar[str] = "Rosenblatt et al. 2020, smartnoise-synth"
    inputs: ClassVar[str] = "mixed"
    accountant: ClassVar[str] = "Opacus (Rényi), add-remove, gradients alone"

    epochs: int = 300
    batch: int = 500
    noise: float = 5.0

    def fit(
        self,
        frame: pd.DataFrame,
        schema: Schema,
        budget: Budget,
        relation: Relation = Relation.ADD_REMOVE,
        seed: int = 0,
    ) -> Fitted:
        python = interpreter()
        codec = Codec(schema)
        parts = [codec.encode(batch) for batch in Source.of(frame, schema).batches()]
        numbers = list(schema.numbers.values())
        asked = {
            "sizes": codec.domain.sizes,
            "bounds": [[rule.min, rule.max] for rule in numbers],
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "epochs": self.epochs,
            "batch": self.batch,
            "noise": self.noise,
            "rows": DRAWN,
        }
        # Mode 0700: it holds rows.
        with tempfile.TemporaryDirectory(prefix="tabveil-dpctgan-") as name:
            folder = Path(name)
            (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
            pq.write_table(_as_arrow(parts), folder / "rows.parquet")
            ended = subprocess.run(
                [str(python), "-W", "ignore", str(SCRIPT), str(folder)],
                capture_output=True,
                env=environment_variables(),
            )
            if ended.returncode == TOO_SMALL:
                raise InvalidInput(
                    f"DP-CTGAN's accountant cannot promise ε = {budget.epsilon:g} at δ = "
                    f"{budget.delta:.2g}.",
                    "Ask for a larger ε or δ.",
                )
            if ended.returncode:
                raise TabveilError(
                    "DP-CTGAN did not finish in its own environment.",
                    "Install it again with: tabveil bench --install dpctgan",
                )
            made = pd.read_parquet(folder / "made.parquet").to_numpy()
            spent = json.loads((folder / "spent.json").read_text(encoding="utf-8"))
        axes = len(codec.domain.sizes)

        def draw(rows: int, random: np.random.Generator) -> pa.Table:
            chosen = made[random.choice(len(made), rows, replace=rows > len(made))]
            return codec.decode(Table(chosen[:, :axes].astype(np.int32), chosen[:, axes:]), random)

        return Fitted(
            draw,
            None,
            Relation.ADD_REMOVE.value,
            {"epsilon_spent": spent["epsilon"], "epochs": spent["epochs"]},
        )


def interpreter() -> Path:
    """The Python of the environment, or one line that says how to make it."""
    python = python_of("dpctgan")
    if not python.exists():
        raise InvalidInput(
            "DP-CTGAN is not installed.",
            "Make its environment with: tabveil bench --install dpctgan",
        )
    return python


def install() -> Path:
    """Make the environment and fill it; takes some minutes and a gigabyte or more."""
    return make_environment("dpctgan", PACKAGES, "DP-CTGAN")


def _as_arrow(parts: list[Table]) -> pa.Table:
    codes = np.concatenate([part.codes for part in parts])
    numbers = np.concatenate([part.numbers for part in parts])
    columns = {f"c{i}": column for i, column in enumerate(codes.T)}
    return pa.table(columns | {f"x{i}": column for i, column in enumerate(numbers.T)})
