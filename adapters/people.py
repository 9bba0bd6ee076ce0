"""A few simulated people, and what is public about them, for all examples here."""

import numpy as np
import pandas as pd

SCHEMA = {
    "columns": {
        "age": {"type": "numerical", "min": 18, "max": 99, "decimals": 0},
        "wage": {"type": "numerical", "min": 0, "max": 20000, "decimals": 2},
        "sex": {"type": "categorical", "values": ["F", "M"]},
        "city": {"type": "categorical", "values": ["Bern", "Oslo", "Rome"]},
    }
}


def people(rows: int = 2000) -> pd.DataFrame:
    random = np.random.default_rng(0)
    sex = random.choice(["F", "M"], rows)
    age = random.integers(18, 99, rows)
    wage = np.clip(random.gamma(3, 900, rows) + 20 * age, 0, 20000).round(2)
    city = np.where(age > 60, "Rome", random.choice(["Bern", "Oslo"], rows))
    return pd.DataFrame({"age": age, "wage": wage, "sex": sex, "city": city})
