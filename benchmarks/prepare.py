"""Make benchmark folders (train, test, public schema) from real tables that are not part of this
repository.

    python benchmarks/prepare.py adult.parquet OUT/adult
    python benchmarks/prepare.py acs2024_ny.parquet OUT/ny
    python benchmarks/prepare.py acs2018_14states.parquet OUT/acs                      # pooled,
    five targets
    python benchmarks/prepare.py acs2018_14states.parquet OUT/vt --state VT --task income

`tabveil.datasets` says how each table is recoded and split, and where its public schema comes from.
"""

import argparse
from pathlib import Path

from tabveil.datasets.acs import POOLED, STATES, TASKS, acs, new_york
from tabveil.datasets.adult import adult


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("table", type=Path)
    options.add_argument("folder", type=Path)
    options.add_argument("--state", choices=[*STATES, POOLED], default=POOLED)
    options.add_argument("--task", choices=[*TASKS, "multitask"], default="multitask")
    asked = options.parse_args()
    if asked.table.name.startswith("adult"):
        made = adult(asked.table.parent)
    elif asked.table.name.endswith("_ny.parquet"):
        made = new_york(asked.table.parent, task=asked.task)
    else:
        made = acs(asked.table.parent, task=asked.task, state=asked.state)
    asked.folder.mkdir(parents=True, exist_ok=True)
    made.train.to_parquet(asked.folder / "train.parquet", index=False)
    made.test.to_parquet(asked.folder / "test.parquet", index=False)
    made.schema.save(asked.folder / "schema.yaml")
    rows = f"{len(made.train):,} + {len(made.test):,} rows"
    print(f"{asked.folder}: {rows}, {len(made.schema.columns)} columns, {made.schema.targets}")


if __name__ == "__main__":
    main()
