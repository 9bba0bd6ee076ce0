"""MargNet as its authors have it, in an environment of its own: rows in, synthetic rows out.

    PYTHONPATH=margnet python margnet.py FOLDER EPSILON SEED OUT --settings loan  # NOT PRIVATE

The environment is requirements-margnet.txt; the code comes from a copy of KaiChen9909/margnet.
Terms that favour it: its bins are exact quantiles and cost nothing, and values as common as a bin
have bins of their own. `--settings` names a file in method/MargDL/config/gan; there are some for
ε = 0.2 to 10.
"""

import argparse
import contextlib
import json
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch
from binned import Binned
from method.MargDL import main as main_of_margnet
from util.rho_cdp import cdp_rho

DELTA = 1e-9
ROWS = 20_000


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path, help="as prepare.py makes them")
    options.add_argument("epsilon", type=float)
    options.add_argument("seed", type=int)
    options.add_argument("out", type=Path, help="a .parquet file")
    options.add_argument("--settings", default="loan")
    asked = options.parse_args()
    np.random.seed(asked.seed)
    torch.manual_seed(asked.seed)
    with_gpu = torch.cuda.is_available()
    if not with_gpu:  # it asks how much memory was used, and CUDA alone can say
        torch.cuda.reset_peak_memory_stats = torch.cuda.max_memory_allocated = lambda *_, **__: 0
    tables = Binned(asked.folder, asked.folder / "train.parquet")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as kept, contextlib.redirect_stdout(sys.stderr):
        system = main_of_margnet.MargDLGen(
            SimpleNamespace(iter=None, lr=None, batch=None, test=False, resample=False),
            tables.private,
            tables.sizes,
            "cuda:0" if with_gpu else "cpu",
            settings(asked.settings, asked.epsilon),
            kept,
            "gan",
        )
        measured = system.fit_adaptive(cdp_rho(asked.epsilon, DELTA))
        with torch.no_grad():
            codes = system.model.sample(ROWS)
    seconds = time.monotonic() - started
    made = tables.decoded(pd.DataFrame(codes, columns=list(tables.sizes)), asked.seed)
    made.to_parquet(asked.out, index=False)
    print(json.dumps({"seconds": round(seconds, 1), "measured": len(measured)}))


def settings(name: str, epsilon: float) -> dict[str, dict[str, object]]:
    """Those of the file for the nearest ε that it has."""
    folder = Path(main_of_margnet.__file__).with_name("config") / "gan"
    kept = tomllib.loads((folder / f"{name}.toml").read_text())
    return kept[min(kept, key=lambda known: abs(np.log(float(known) / epsilon)))]


if __name__ == "__main__":
    main()
