"""SDGym: this package as a custom synthesizer in its benchmark.

SDGym brings SDV metadata without bounds or lists of values; what is public has to come from you.
Here a schema is given; on datasets whose domains nobody wrote down, `tv.Schema.infer(frame,
epsilon=...)` buys it.
"""

import contextlib
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import sdgym
from people import SCHEMA, people

import tabveil as tv

EPSILON = 1.0


def fitted(data: pd.DataFrame, metadata: Any) -> tv.RAPpp:
    """Fit once; SDGym calls this with the real rows."""
    return tv.RAPpp(tv.Schema.from_dict(SCHEMA), EPSILON).fit(data)


def drawn(synthesizer: tv.RAPpp, rows: int) -> pd.DataFrame:
    """Rows as SDGym asks for them."""
    return synthesizer.sample(rows, seed=0)


Tabveil = sdgym.create_single_table_synthesizer(
    display_name="Tabveil",
    get_trained_synthesizer_fn=fitted,
    sample_from_synthesizer_fn=drawn,
)


def dataset(folder: Path) -> None:
    """A dataset as SDGym finds it in a folder of one's own."""
    place = folder / "single_table" / "people"
    place.mkdir(parents=True)
    with zipfile.ZipFile(place / "data.zip", "w") as packed:
        packed.writestr("people.csv", people().to_csv(index=False))
    types = {"numerical": "numerical", "categorical": "categorical"}
    columns = {n: {"sdtype": types[rule["type"]]} for n, rule in SCHEMA["columns"].items()}
    table = {"columns": columns}
    metadata = {"METADATA_SPEC_VERSION": "V1", "tables": {"people": table}, "relationships": []}
    (place / "metadata.json").write_text(json.dumps(metadata), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        dataset(Path(place))
        with contextlib.chdir(
            f"{place}/single_table"
        ):  # where SDGym 0.15 looks before it downloads
            scores = sdgym.benchmark_single_table(
                synthesizers=["UniformSynthesizer"],
                custom_synthesizers=[Tabveil],
                sdv_datasets=[],
                additional_datasets_folder=place,
                compute_privacy_score=False,
            )
    print(scores[["Synthesizer", "Dataset", "Quality_Score"]].to_string(index=False))
    quality = scores.set_index("Synthesizer")["Quality_Score"]
    ours = next(value for name, value in quality.items() if "Tabveil" in name)
    assert ours > quality["UniformSynthesizer"]
