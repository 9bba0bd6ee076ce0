"""Each way to extend tabveil takes one file and one entry in a list: done here on a copy of the
package."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "extending"


@dataclass(frozen=True)
class Extension:
    """A file for one of the rooms, and how its list comes to know it: an import, and an entry."""

    file: str
    room: str
    imported: str
    before: str  # where on the list the entry goes
    entry: str


EXTENSIONS = (
    Extension(
        "letters.py",
        "columns",
        "from tabveil.columns.letters import Letters\n",
        '    "id": Id,',
        '    "letters": Letters,\n',
    ),
    Extension(
        "quadrants.py",
        "queries",
        "from tabveil.queries.quadrants import Quadrants\n",
        "    ProjectedHistograms,\n)",
        "    Quadrants,\n",
    ),
    Extension(
        "noisy_columns.py",
        "baselines",
        "from tabveil.baselines.noisy_columns import NoisyColumns\n",
        '"default": OurDefault',
        '"noisy_columns": NoisyColumns, ',
    ),
    Extension(
        "one_thread.py",
        "engines",
        "from tabveil.engines.one_thread import OneThread\n",
        '"local": Local',
        '"one_thread": OneThread, ',
    ),
    Extension(
        "at_a_glance.py",
        "report",
        "from tabveil.report import at_a_glance\n",
        "guarantee, budget, columns, pairs",
        "at_a_glance, ",
    ),
    Extension(
        "tab_separated.py",
        "release/formats",
        "from tabveil.release.formats import tab_separated\n",
        "parquet.FORMAT,",
        "tab_separated.FORMAT, ",
    ),
)

# Uses all six as a user would: none of the code that is called knows them by name.
TRIAL = """
import sys
import numpy as np, pandas as pd, tabveil as tv
from tabveil import report
from tabveil.cli.options import EngineName
from tabveil.release import output
from tabveil.baselines import BASELINES
from tabveil.curator import Workload, count
from tabveil.engines import ENGINES, engine_named
from tabveil.fitting.presets import Default, Effort
from tabveil.fitting.projection import Annealing
from tabveil.queries import FAMILIES
from tabveil.sources import Source
from tabveil.tables.placement import MinMax
from tabveil.tables.table import Codec

random = np.random.default_rng(0)
frame = pd.DataFrame({"sex": random.choice(["F", "M"], 500), "age": random.integers(0, 90, 500),
                      "wage": random.integers(0, 900, 500)})
marks = tv.Schema(columns={"mark": tv.Letters(last="D"), "sex": tv.Boolean()})
synthetic = tv.RAPpp(marks, 5.0).fit(pd.DataFrame({"mark": [*"aabd"] * 50, "sex": True})).sample(90)
assert set(synthetic["mark"]) <= {*"ABCD"} and (synthetic["mark"] == "A").mean() > 0.3
number = {"type": "numerical", "min": 0, "max": 1000, "decimals": 0}
sexes = {"type": "categorical", "values": ["F", "M"]}
schema = tv.Schema.from_dict({"columns": {"sex": sexes, "age": {**number, "max": 100},
"wage": number}})

assert "one_thread" in EngineName.__members__
few = Annealing(8.0, stages=1, steps=2, tolerance=0.0)
quick = Default(rounds=1, effort=Effort(rows=50, between_rounds=few, at_the_end=few))
model = tv.RAPpp(schema, preset=quick, engine="one_thread")
assert "At a glance" in report.page(model.fit(frame).release_).html()

fitted = BASELINES["noisy_columns"]().fit(frame, schema, tv.Budget(5.0, 1e-9))
synthetic = fitted.sample(400)
assert list(synthetic) == list(frame) and len(synthetic) == 400 and fitted.spent <= tv.Budget(5.0,
1e-9).rho
assert abs(synthetic["age"].mean() - frame["age"].mean()) < 10

family = next(family for family in FAMILIES if family.__name__ == "Quadrants")
codec = Codec(schema)
table = codec.encode(next(Source.of(frame, schema).batches()))
counts = count(Workload((family.over(codec.domain),), MinMax.of(schema), codec.domain), table)[0]
low_age, low_wage = frame["age"] < 50, frame["wage"] < 500
assert counts.tolist() == [[(a & b).sum() for a in (low_age, ~low_age) for b in (low_wage,
~low_wage)]]
synthetic = model.release_.sample(7, kind="arrow")
output.write(synthetic, f"{sys.argv[1]}/rows.tsv")
assert len(pd.read_csv(f"{sys.argv[1]}/rows.tsv", sep="\\t")) == 7
print("all six were found")
"""


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with one file more in each of six rooms, and one entry more on each
    list."""
    copy = tmp_path_factory.mktemp("extended")
    shutil.copytree(
        ROOT / "src/tabveil", copy / "tabveil", ignore=shutil.ignore_patterns("__pycache__")
    )
    for extension in EXTENSIONS:
        room = copy / "tabveil" / extension.room
        shutil.copy(EXAMPLES / extension.file, room)
        lists = room / "__init__.py"
        text = lists.read_text(encoding="utf-8")
        assert text.count(extension.before) == 1, (
            f"the list in {extension.room} looks different now"
        )
        text = text.replace(extension.before, extension.entry + extension.before)
        last = list(re.finditer(r"^from tabveil[^(\n]*(\([^)]*\))?\n", text, re.MULTILINE))[
            -1
        ].end()
        lists.write_text(text[:last] + extension.imported + text[last:], encoding="utf-8")
    return copy


def test_one_file_and_one_entry_add_a_type_a_family_a_baseline_an_engine_a_section_and_a_format(
    extended: Path, tmp_path: Path
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", TRIAL, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(extended)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == "all six were found"


def test_a_new_type_of_column_is_tested_by_being_on_the_list(extended: Path) -> None:
    room = [str(ROOT / "tests/columns/test_every_type.py"), str(ROOT / "tests/test_names.py")]
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            "letters or type",
            *room,
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(extended)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stdout[-3000:]
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-k", "letters", room[0]],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(extended), "PYTEST_ADDOPTS": ""},  # -q twice is mute
        capture_output=True,
        text=True,
    )
    assert said.stdout.count("[letters ") > 10  # it was among those that were tried


def test_every_extension_that_the_docs_show_is_tried() -> None:
    shown = set(
        re.findall(r"examples/extending/(\w+\.py)", (ROOT / "docs/extending.md").read_text())
    )
    assert shown == {path.name for path in EXAMPLES.glob("*.py")} == {e.file for e in EXTENSIONS}
