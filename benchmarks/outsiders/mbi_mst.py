"""mbi's own MST, from a clone of ryan112358/private-pgm, in an environment of its own.

    python mbi_mst.py FOLDER CLONE

FOLDER holds asked.json and codes.parquet; made.parquet is written there.
"""

import json
import sys
from pathlib import Path

import pandas as pd


def main(folder: Path, clone: Path) -> None:
    sys.path[:0] = [str(clone / "src"), str(clone / "mechanisms")]
    from mbi import Dataset, Domain
    from mst import MST

    asked = json.loads((folder / "asked.json").read_text())
    codes = pd.read_parquet(folder / "codes.parquet")
    made = MST(Dataset(codes, Domain.fromdict(asked["sizes"])), asked["epsilon"], asked["delta"])
    made.df[list(codes)].to_parquet(folder / "made.parquet", index=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
