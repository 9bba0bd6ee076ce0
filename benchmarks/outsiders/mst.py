"""MST as dpmm has it, in an environment of its own: rows in, synthetic rows out.

    python mst.py FOLDER ...

Each folder holds asked.json and train.parquet; synthetic.parquet is written there.
"""

import json
import sys
from pathlib import Path

import pandas as pd
from dpmm.models import mst
from dpmm.models.base.mbi import FactoredInference
from dpmm.models.base.mechanisms import mechanism
from dpmm.pipelines import MSTPipeline

BINS = 20
# of its optimiser, which takes 10,000 as it comes and many minutes; noise is not touched by it
STEPS = 100


class Hasty(FactoredInference):
    """Its optimiser, stopped early."""

    def __init__(self, domain: object, **more: object) -> None:
        super().__init__(domain, **{**more, "iters": STEPS})


mst.FactoredInference = mechanism.FactoredInference = Hasty


def main(folder: Path) -> None:
    asked = json.loads((folder / "asked.json").read_text())
    rows = pd.read_parquet(folder / "train.parquet")
    for name, rule in asked["domain"].items():
        kind = "category" if "categories" in rule else float
        rows[name] = (rows[name].astype(str) if "categories" in rule else rows[name]).astype(kind)
    # Bounds and categories are public here, so all of ε goes to the model and bins are of equal
    # width.
    settings = {"proc_epsilon": None, "n_bins": BINS, "n_jobs": 1}
    model = MSTPipeline(epsilon=asked["epsilon"], delta=asked["delta"], **settings)
    model.fit(rows, domain=asked["domain"])
    made = model.generate(n_records=asked["rows"])[list(asked["domain"])]
    for name, rule in asked["domain"].items():
        made[name] = (
            made[name].astype(str) if "categories" in rule else made[name].astype(float).round()
        )
    made.to_parquet(folder / "synthetic.parquet", index=False)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        main(Path(name))
