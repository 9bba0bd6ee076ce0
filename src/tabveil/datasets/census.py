"""A census-like population, simulated: a table with real-world shapes that belongs to nobody.

People are drawn one group of columns after another, each given the ones before it, so ages,
schooling, work and money hang together as they do in a survey: spikes at 40 hours and 52 weeks,
wages that are zero or heavy-tailed and like round numbers, and outcomes that bend and interact with
the other columns.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from tabveil.schema import Schema

TITLE = "Simulated census: 10 categorical and 6 numeric columns, 3 targets"

SEX = ("female", "male")
REGION = ("capital", "north", "south", "east", "west", "islands")
CITIZENSHIP = ("born here", "naturalised", "not a citizen")
LANGUAGE = ("national", "regional", "neighbouring", "other")
EDUCATION = (
    "no schooling",
    "primary",
    "some secondary",
    "secondary",
    "some college",
    "vocational",
    "bachelor",
    "graduate",
)
MARITAL = ("never married", "married", "separated", "divorced", "widowed")
DISABILITY = ("no", "yes")
OCCUPATION = (
    "management",
    "professional",
    "health",
    "teaching",
    "office",
    "sales",
    "service",
    "construction",
    "production",
    "transport",
    "farming",
    "not working",
)
WORKER = ("private", "public", "self-employed", "family business", "not working")
HOUSING = ("owned outright", "mortgage", "rented", "rent free")
YES_NO = ("no", "yes")

IDLE = OCCUPATION.index("not working")
# How each occupation leans: wanted schooling,
# share of men (log odds), typical log wage, log commute.
LEANINGS = np.array(
    [
        [5.4, 0.3, 0.55, 0.15],
        [6.6, 0.2, 0.50, 0.20],
        [5.8, -1.5, 0.30, 0.00],
        [6.6, -1.2, 0.05, -0.10],
        [3.9, -1.0, 0.00, 0.05],
        [3.2, -0.1, -0.10, 0.00],
        [2.4, -0.4, -0.35, -0.05],
        [2.5, 2.2, 0.10, 0.25],
        [2.6, 0.8, 0.00, 0.00],
        [2.5, 1.5, 0.00, 0.10],
        [1.6, 0.9, -0.30, -0.30],
    ]
)

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]


def schema() -> Schema:
    """What anyone may know about the table unseen: the questionnaire's answers and ranges."""

    def categorical(values: Sequence[str]) -> dict[str, object]:
        return {"type": "categorical", "values": list(values)}

    def numerical(low: int, high: int) -> dict[str, object]:
        return {"type": "numerical", "min": low, "max": high, "decimals": 0}

    columns = {
        "age": numerical(16, 99),
        "sex": categorical(SEX),
        "region": categorical(REGION),
        "citizenship": categorical(CITIZENSHIP),
        "language": categorical(LANGUAGE),
        "education": categorical(EDUCATION),
        "marital": categorical(MARITAL),
        "disability": categorical(DISABILITY),
        "occupation": categorical(OCCUPATION),
        "worker": categorical(WORKER),
        "weeks": numerical(0, 52),
        "hours": numerical(0, 99),
        "wage": numerical(0, 999_999),
        "other_income": numerical(0, 499_999),
        "commute": numerical(0, 180),
        "housing": categorical(HOUSING),
        "employed": categorical(YES_NO),
        "well_off": categorical(YES_NO),
        "public_insurance": categorical(YES_NO),
    }
    return Schema.from_dict(
        {"columns": columns, "targets": ["employed", "well_off", "public_insurance"]}
    )


def frame(rows: int = 50_000, seed: int = 0) -> pd.DataFrame:
    """`rows` simulated people; the same `rows` and `seed` give the same people."""
    rng = np.random.default_rng(seed)
    age, sex, region = people(rng, rows)
    citizenship, language = origins(rng, age, region)
    education = schooling(rng, age, region, citizenship)
    marital = family(rng, age, sex, education)
    disability = health(rng, age, education)
    occupation, worker = work(rng, age, sex, education, marital, disability, citizenship)
    weeks, hours = worktime(rng, age, sex, marital, occupation, worker)
    wage = wages(rng, age, sex, region, education, occupation, worker, weeks, hours)
    other_income = other_incomes(rng, age, education, wage)
    commute = commutes(rng, region, occupation, worker, hours)
    housing = homes(rng, age, marital, region, wage + other_income)
    employed = employment(rng, age, education, disability, worker, weeks, hours)
    household = household_income(rng, age, sex, marital, education, wage, other_income)
    insured = public_insurance(rng, age, disability, citizenship, marital, worker, household)
    return pd.DataFrame(
        {
            "age": age.astype(np.int64),
            "sex": named(SEX, sex),
            "region": named(REGION, region),
            "citizenship": named(CITIZENSHIP, citizenship),
            "language": named(LANGUAGE, language),
            "education": named(EDUCATION, education),
            "marital": named(MARITAL, marital),
            "disability": named(DISABILITY, disability),
            "occupation": named(OCCUPATION, occupation),
            "worker": named(WORKER, worker),
            "weeks": weeks.astype(np.int64),
            "hours": hours.astype(np.int64),
            "wage": wage.astype(np.int64),
            "other_income": other_income.astype(np.int64),
            "commute": commute.astype(np.int64),
            "housing": named(HOUSING, housing),
            "employed": named(YES_NO, employed),
            "well_off": named(YES_NO, household > 75_000),
            "public_insurance": named(YES_NO, insured),
        }
    )


def people(rng: np.random.Generator, rows: int) -> tuple[Numbers, Codes, Codes]:
    """Age (skewed, 16 to 99), sex (women live longer) and region."""
    age = np.floor(16 + 84 * rng.beta(1.25, 1.9, rows))
    sex = chance(rng, 0.12 - 0.0007 * np.maximum(age - 45, 0) ** 1.5)
    region = pick(rng, np.log([[0.24, 0.15, 0.20, 0.17, 0.19, 0.05]]) + np.zeros((rows, 1)))
    return age, sex, region


def origins(rng: np.random.Generator, age: Numbers, region: Codes) -> tuple[Codes, Codes]:
    """Citizenship (newcomers are young and live in the capital) and the language spoken at home."""
    newcomer = np.array([0.9, -0.4, 0.2, -0.5, 0.0, -0.8])[region]
    citizenship = pick(
        rng,
        columns(0.0, -2.2 + newcomer + 0.012 * (age - 40), -2.3 + newcomer - 0.025 * (age - 40)),
    )
    by_origin = np.array([[0.0, -2.2, -3.6, -4.0], [0.0, -2.5, -0.2, -0.3], [0.0, -3.0, 0.5, 0.6]])
    by_region = np.array([0.0, 1.4, -0.5, 0.3, -1.0, 2.2])
    logits = by_origin[citizenship]
    logits[:, 1] += by_region[region]
    return citizenship, pick(rng, logits)


def schooling(rng: np.random.Generator, age: Numbers, region: Codes, citizenship: Codes) -> Codes:
    """Highest schooling: later cohorts stay longer, newcomers have very little or a great deal."""
    rows = len(age)
    spread = np.array([1.0, 1.2, 1.6])[citizenship]
    score = (
        0.2 - 0.014 * np.maximum(age - 45, 0) + np.array([0.5, 0.1, -0.2, 0.0, -0.1, -0.3])[region]
    )
    level = np.searchsorted(
        [-2.6, -1.9, -1.1, -0.2, 0.25, 0.65, 1.45], score + spread * rng.normal(size=rows)
    )
    highest_by_age = np.select([age < 18, age < 20, age < 22, age < 25], [2, 3, 4, 6], default=7)
    return np.minimum(level, highest_by_age)


def family(rng: np.random.Generator, age: Numbers, sex: Codes, education: Codes) -> Codes:
    """Marital status: never married when young, widowed (women above all) when old."""
    later = np.maximum(age - 16, 0) / 10
    return pick(
        rng,
        columns(
            2.6 - 1.15 * later + 0.08 * education,
            -1.2 + 1.5 * np.minimum(later, 2.0) - 0.05 * later + 0.06 * education,
            -2.0 + 0.35 * np.minimum(later, 3.5) - 0.12 * education,
            -2.3 + 0.75 * np.minimum(later, 4.0) - 0.05 * education,
            -6.0 + 0.85 * later + 0.8 * (1 - sex),
        ),
    )


def health(rng: np.random.Generator, age: Numbers, education: Codes) -> Codes:
    """Disability: rare when young, steep after seventy, rarer with schooling."""
    return chance(
        rng, -2.6 + 0.02 * (age - 40) + 0.06 * np.maximum(age - 70, 0) - 0.2 * (education - 3)
    )


def work(
    rng: np.random.Generator,
    age: Numbers,
    sex: Codes,
    education: Codes,
    marital: Codes,
    disability: Codes,
    citizenship: Codes,
) -> tuple[Codes, Codes]:
    """Occupation and class of worker over the last year; `not working` for those without work."""
    young_mother = (sex == 0) & (marital == 1) & (age < 42)
    prime = 2.6 - ((age - 41) / 15) ** 2 * 0.75
    working = (
        chance(rng, prime + 0.18 * (education - 3) - 1.9 * disability - 1.1 * young_mother) == 1
    )
    wanted, men, *_ = LEANINGS.T
    logits = -0.32 * (education[:, None] - wanted) ** 2 + men * (sex[:, None] - 0.5) * 1.4
    logits += (citizenship == 2)[:, None] * np.array(
        [-0.6, 0, 0, -0.8, -0.4, 0, 0.7, 0.8, 0.5, 0.2, 0.9]
    )
    occupation = np.where(
        working,
        pick(rng, logits + np.array([-0.3, 0, -0.2, -0.2, 0, 0, 0.3, 0, 0, -0.2, -1.5])),
        IDLE,
    )
    in_public = np.array([-1.6, -1.5, -0.6, 1.6, -0.9, -3.5, -1.6, -2.5, -3.0, -1.2, -3.5, 0])[
        occupation
    ]
    on_own = np.array([-0.7, -1.4, -2.0, -3.0, -3.0, -1.5, -1.6, -0.7, -2.6, -1.6, 0.3, 0])[
        occupation
    ]
    worker = pick(
        rng, columns(0.8, in_public + 0.01 * (age - 40), on_own + 0.03 * (age - 40), on_own - 2.0)
    )
    return occupation, np.where(working, worker, WORKER.index("not working"))


def worktime(
    rng: np.random.Generator,
    age: Numbers,
    sex: Codes,
    marital: Codes,
    occupation: Codes,
    worker: Codes,
) -> tuple[Numbers, Numbers]:
    """Weeks worked last year (most: 52) and usual hours (most: 40); zero for those without work."""
    rows = len(age)
    works = occupation != IDLE
    whole_year = (
        chance(
            rng, 1.4 - 1.5 * (age < 24) - 0.05 * np.maximum(age - 60, 0) - 0.9 * (occupation == 10)
        )
        == 1
    )
    weeks = np.where(whole_year, 52, np.ceil(51 * rng.beta(1.6, 1.1, rows)))
    short = chance(
        rng,
        -2.0
        + 2.0 * (age < 22)
        + 0.08 * np.maximum(age - 60, 0)
        + 1.0 * ((sex == 0) & (marital == 1))
        + 0.6 * (worker == 3),
    )
    long = np.isin(occupation, [0, 10]) | (worker == 2)
    spread = np.where(long, 12, 6)
    full = 42 + 5 * long + spread * rng.normal(size=rows)
    hours = np.where(short == 1, 10 + 24 * rng.beta(2, 1.4, rows), np.maximum(full, 30))
    liked = rng.random(rows)
    hours = np.where(liked < 0.75, 5 * np.round(hours / 5), np.round(hours))
    hours = np.where((short == 0) & ~long & (liked < 0.6), 40, hours)
    return np.where(works, np.clip(weeks, 1, 52), 0), np.where(works, np.clip(hours, 1, 99), 0)


def wages(
    rng: np.random.Generator,
    age: Numbers,
    sex: Codes,
    region: Codes,
    education: Codes,
    occupation: Codes,
    worker: Codes,
    weeks: Numbers,
    hours: Numbers,
) -> Numbers:
    """Yearly wage: zero or lognormal with a heavy tail; people report round numbers."""
    rows = len(age)
    trade = np.append(LEANINGS[:, 2], 0.0)[occupation]
    place = np.array([0.25, 0.05, -0.1, 0.0, 0.05, -0.2])[region]
    career = 0.5 - 0.5 * ((age - 50) / 28) ** 2
    effort = np.log(np.maximum(hours * weeks, 1) / 2080)
    own_business = (worker == 2) * rng.normal(0.1, 0.7, rows)
    tail = 0.45 * rng.standard_t(6, rows)
    logs = (
        10.25
        + 0.11 * (education - 3)
        + trade
        + place
        + career
        + 0.18 * sex
        + effort
        + own_business
        + tail
    )
    unpaid = chance(rng, np.array([-9.0, -9.0, -1.2, 0.5, 9.0])[worker]) == 1
    wage = np.where(unpaid, 0, np.exp(np.minimum(logs, 14)))
    return np.clip(rounded(rng, wage), 0, 999_999)


def other_incomes(
    rng: np.random.Generator, age: Numbers, education: Codes, wage: Numbers
) -> Numbers:
    """Pensions after retirement age, interest and rents for some; zero for most."""
    rows = len(age)
    pension = np.where(
        (age >= 63) & (rng.random(rows) < 0.9),
        np.exp(9.2 + 0.14 * education + 0.5 * rng.normal(size=rows)),
        0,
    )
    has_assets = chance(rng, -2.6 + 0.2 * education + 0.02 * (age - 40) + (wage > 90_000)) == 1
    assets = np.where(has_assets, np.exp(7.0 + 0.1 * education + 1.5 * rng.normal(size=rows)), 0)
    return np.clip(rounded(rng, pension + assets), 0, 499_999)


def commutes(
    rng: np.random.Generator, region: Codes, occupation: Codes, worker: Codes, hours: Numbers
) -> Numbers:
    """Minutes to work, in fives and tens; zero for those at home."""
    rows = len(region)
    at_home = (
        chance(rng, -2.4 + 1.3 * (worker == 2) + 0.8 * (occupation <= 1) + 0.5 * (hours < 20)) == 1
    )
    far = (
        np.array([0.45, 0.0, 0.05, -0.05, 0.0, -0.3])[region]
        + np.append(LEANINGS[:, 3], 0.0)[occupation]
    )
    minutes = np.exp(3.0 + far + 0.65 * rng.normal(size=rows))
    minutes = np.where(rng.random(rows) < 0.85, 5 * np.ceil(minutes / 5), np.ceil(minutes))
    return np.where(at_home | (occupation == IDLE), 0, np.clip(minutes, 1, 180))


def homes(
    rng: np.random.Generator, age: Numbers, marital: Codes, region: Codes, income: Numbers
) -> Codes:
    """Housing: the young rent, the middle-aged with income have a mortgage, the old own."""
    comfort = np.log1p(income / 20_000)
    middle = 1 - ((age - 45) / 20) ** 2
    return pick(
        rng,
        columns(
            -2.2 + 0.05 * (age - 30) + 0.3 * comfort - 0.6 * (region == 0),
            -1.6
            + 0.9 * np.maximum(middle, -3)
            + 0.9 * comfort
            + 0.8 * (marital == 1)
            - 0.4 * (region == 0),
            0.6 - 0.02 * (age - 30) - 0.1 * comfort,
            -2.4 + 1.5 * (age < 22),
        ),
    )


def employment(
    rng: np.random.Generator,
    age: Numbers,
    education: Codes,
    disability: Codes,
    worker: Codes,
    weeks: Numbers,
    hours: Numbers,
) -> Codes:
    """Employed today, a year after those weeks and hours: people retire, lose and find work."""
    settled = 0.045 * (weeks - 26) + 0.02 * (hours - 30)
    worked = (
        0.9 + settled + 0.1 * (education - 3) - 0.16 * np.maximum(age - 58, 0) + 0.9 * (worker == 1)
    )
    starting_out = 2.2 * np.exp(-(((age - 24) / 7) ** 2)) - 1.2 * (age < 19)
    idle = (
        -2.1
        + starting_out
        + 0.12 * (education - 3)
        - 1.2 * disability
        - 0.05 * np.maximum(age - 45, 0)
    )
    return chance(rng, np.where(weeks > 0, worked - 0.6 * disability, idle))


def household_income(
    rng: np.random.Generator,
    age: Numbers,
    sex: Codes,
    marital: Codes,
    education: Codes,
    wage: Numbers,
    other_income: Numbers,
) -> Numbers:
    """What the whole household brings in: a spouse's or a parent's money is in no column."""
    rows = len(age)
    spouse = np.exp(
        10.0
        + 0.16 * (education - 3)
        - 0.9 * (age > 66)
        + 0.3 * (1 - sex)
        + 0.6 * rng.normal(size=rows)
    )
    spouse *= rng.random(rows) < 0.78
    parents = np.exp(11.0 + 0.6 * rng.normal(size=rows)) * (rng.random(rows) < 0.75)
    shared = np.where(marital == 1, spouse, np.where((marital == 0) & (age < 25), parents, 0))
    return wage + other_income + shared


def public_insurance(
    rng: np.random.Generator,
    age: Numbers,
    disability: Codes,
    citizenship: Codes,
    marital: Codes,
    worker: Codes,
    household: Numbers,
) -> Codes:
    """Covered by the state: nearly all from 65; before, the poor, the young and the disabled."""
    need = 1.3 - household / 22_000
    young = 1.0 * (age < 21)
    eligible = np.where(citizenship == 2, -1.6, 0.0) + 2.2 * disability * (citizenship != 2)
    state_job = 1.4 * (worker == 1)
    before = need + young + eligible + state_job - 0.3 * (marital == 1)
    return chance(
        rng, np.where(age >= 65, 2.9 - 1.5 * (citizenship == 2), np.maximum(before, -3.2))
    )


def chance(rng: np.random.Generator, log_odds: Numbers) -> Codes:
    """1 with the given log odds, else 0."""
    return (rng.logistic(size=len(log_odds)) < log_odds).astype(np.int64)


def pick(rng: np.random.Generator, logits: Numbers) -> Codes:
    """One code per row, with probability proportional to exp(logit) (the Gumbel-max trick)."""
    return np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)


def columns(*logits: ArrayLike) -> Numbers:
    """One logit per category, side by side; a plain number holds for every row."""
    return np.stack(np.broadcast_arrays(*logits), axis=1)


def rounded(rng: np.random.Generator, amount: Numbers) -> Numbers:
    """Amounts as people state them: mostly in thousands or hundreds, some exact."""
    step = rng.choice([1, 100, 1000], size=len(amount), p=[0.2, 0.2, 0.6])
    step = np.where(amount < 10_000, np.minimum(step, 100), step)
    return np.round(amount / step) * step


def named(names: Sequence[str], codes: Codes | Flags) -> NDArray[np.object_]:
    """The category names that the codes stand for."""
    return np.array(names, dtype=object)[codes.astype(np.int64)]
