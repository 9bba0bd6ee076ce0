"""The same fit on a Dask cluster: workers read and count, and only sums of whole numbers travel."""

from pathlib import Path

from distributed import Client

import tabveil as tv
from tabveil.datasets import DATASETS

census = DATASETS["census"]
folder = Path("people")
folder.mkdir()
for part in range(4):
    census.frame(1_000, part).to_parquet(folder / f"{part}.parquet", index=False)

# Two threads stand for a cluster here; elsewhere it is Client("tcp://scheduler:8786").
with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None):
    model = tv.RAPpp(census.schema(), epsilon=1.0, engine="dask").fit("people")

print(model.release_.privacy["promise"])
print(model.sample(3, seed=0))
