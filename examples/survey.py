"""A made-up survey with codes, as a statistical office would hand it over: survey.csv."""

import numpy as np
import pandas as pd

random = np.random.default_rng(0)
rows = 3_000
region = random.choice(["N1", "N2", "S1", "S2"], rows, p=[0.4, 0.3, 0.2, 0.1])
density = pd.Series(region).map({"N1": 812.4, "N2": 55.0, "S1": 17.3, "S2": 4.1})
age = random.integers(0, 100, rows)
adult = age >= 15
degree = np.where(adult, 1 + random.binomial(3, 0.45, rows), 0)
south = np.char.startswith(region, "S")
income = random.lognormal(9.6 + 0.3 * degree - 0.4 * south, 0.6).round(-2).clip(0, 500_000)


def asked_of_adults(answers: np.ndarray) -> np.ndarray:
    """N, not applicable, for those who were not asked."""
    return np.where(adult, answers.astype(int).astype(str), "N")


survey = pd.DataFrame(
    {
        "REGION": region,
        "DENSITY": density,
        "AGE": age,
        "SEX": random.integers(1, 3, rows),
        "MARITAL": asked_of_adults(random.integers(1, 4, rows)),
        "DEGREE": asked_of_adults(degree),
        "INCOME": asked_of_adults(income),
    }
)
survey.to_csv("survey.csv", index=False)
