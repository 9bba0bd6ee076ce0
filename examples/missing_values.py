"""Cells that are missing, and numbers that mean something else, keep what they have to do with the
rest."""

import numpy as np
import pandas as pd

import tabveil as tv

random = np.random.default_rng(0)
job = random.choice(["employed", "retired", "student"], 4_000, p=[0.6, 0.25, 0.15])
wage = random.lognormal(10, 0.5, 4_000).round(-2).clip(0, 200_000)
wage[job == "retired"] = np.nan  # not asked
wage[(job != "retired") & (random.random(4_000) < 0.08)] = -1  # refused to answer
people = pd.DataFrame({"job": job, "wage": wage})

schema = tv.Schema.from_dict(
    {
        "columns": {
            "job": {"type": "categorical", "values": ["employed", "retired", "student"]},
            "wage": {
                "type": "numerical",
                "min": 0,
                "max": 200_000,
                "decimals": 0,
                "special_values": [-1],
                "nullable": True,
            },
        }
    }
)
synthetic = tv.RAPpp(schema, epsilon=2.0).fit(people).sample(4_000, seed=0)

for name, table in {"real": people, "synthetic": synthetic}.items():
    missing = table["wage"].isna().groupby(table["job"]).mean()
    refused = (table["wage"] == -1).groupby(table["job"]).mean()
    print(
        name,
        {
            job: f"{missing[job]:.0%} missing, {refused[job]:.0%} refused"
            for job in sorted(missing.index)
        },
    )
