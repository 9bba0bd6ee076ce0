"""PMW-Pub as its authors have it, in an environment of its own: rows in, synthetic rows out.

    PYTHONPATH=dp-query-release python pmw_public.py FOLDER PUBLIC EPSILON SEED OUT

The environment is requirements-pmw.txt; the code comes from a copy of
terranceliu/dp-query-release. The number of private rows is taken as known.
"""

import json
import tempfile
import time

import numpy as np
from binned import Binned, arguments
from src.algo.public_assisted import PMWPubSingle
from src.qm import KWayMarginalQM, KWayMarginalSupportQMPublic
from src.syndata import NormalizedHistogram
from src.utils import Dataset, Domain, get_per_round_budget_zCDP

DELTA = 1e-9
ROWS = 20_000
PUBLIC = 2**15  # rows that get weights, as many as in this package


def main() -> None:
    options = arguments(__doc__)
    options.add_argument("--rounds", type=int, default=50)
    asked = options.parse_args()
    tables = Binned(asked.folder, asked.public)
    domain = Domain.fromdict(tables.sizes)
    drawn = tables.public.sample(min(PUBLIC, len(tables.public)), random_state=asked.seed)
    private, public = Dataset(tables.private, domain), Dataset(drawn, domain)
    started = time.monotonic()
    # Left alone it takes the number of public rows for that of the private ones, and too little
    # noise.
    asking = KWayMarginalSupportQMPublic(public, tables.workload(), sensitivity=1 / len(private))
    model = NormalizedHistogram(asking)
    per_round, _ = get_per_round_budget_zCDP(asked.epsilon, DELTA, asked.rounds, alpha=0.5)
    with tempfile.TemporaryDirectory() as kept:
        system = PMWPubSingle(
            model, asked.rounds, per_round, recycle_queries=True, default_dir=kept, seed=asked.seed
        )
        system.fit(KWayMarginalQM(private, tables.workload()).get_answers(private))
    made = model.get_syndata(ROWS).df
    seconds = time.monotonic() - started
    tables.decoded(made, asked.seed).to_parquet(asked.out, index=False)
    print(json.dumps({"seconds": round(seconds, 1), "moved": moved(model, asking)}))


def moved(model: NormalizedHistogram, asking: KWayMarginalSupportQMPublic) -> float:
    """How far its weights are from the public table's, in total variation."""
    return round(float(np.abs(model.A - asking.histogram_public).sum() / 2), 4)


if __name__ == "__main__":
    main()
