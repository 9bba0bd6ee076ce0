"""People whose columns hang together in a known way, and quick releases of them."""

import numpy as np
import pandas as pd

import tabveil as tv
from noises import Fixed
from tabveil.fitting.presets import Default, Effort
from tabveil.fitting.projection import Annealing
from tabveil.fitting.synthesizer import fit_with_noise

FAST = Annealing(8.0, stages=2, steps=20, tolerance=0.0)
QUICK = Default(rounds=2, effort=Effort(rows=100, between_rounds=FAST, at_the_end=FAST))
SCHEMA = {
    "columns": {
        "who": {"type": "id"},
        "sex": {"type": "categorical", "values": ["F", "M"]},
        "city": {"type": "categorical", "values": ["a", "b", "c"]},
        "rich": {"type": "categorical", "values": ["no", "yes"]},
        "age": {"type": "numerical", "min": 0, "max": 99, "decimals": 0},
        "wage": {"type": "numerical", "min": 0, "max": 200, "decimals": 0, "nullable": True},
    },
    "targets": ["rich"],
}
PEOPLE = 4000


def people(seed: int, rows: int = PEOPLE) -> pd.DataFrame:
    """Men and the old earn more: 60 + 20 (man) + 0.5 (age − 50), and some noise."""
    random = np.random.default_rng(seed)
    sex = random.choice(["F", "M"], rows, p=[0.6, 0.4])
    age = np.clip(random.normal(50, 15, rows), 0, 99).round()
    wage = 60 + 20 * (sex == "M") + 0.5 * (age - 50) + random.normal(0, 10, rows)
    wage = np.clip(wage, 0, 200).round()
    return pd.DataFrame(
        {
            "who": np.arange(rows),
            "sex": sex,
            "city": random.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2]),
            "rich": np.where(wage > 75, "yes", "no"),
            "age": age.astype(int),
            "wage": np.where(random.random(rows) < 0.1, np.nan, wage),
        }
    )


def fitted(seed: int, epsilon: float = 8.0) -> tv.RAPpp:
    """A model with noise of the right size from a seed."""
    model = tv.RAPpp(tv.Schema.from_dict(SCHEMA), epsilon, preset=QUICK)
    return fit_with_noise(model, people(seed), Fixed(seed))
