"""The same as a command and as Python: beside every screen, and the whole session as a script."""

import pprint
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from tabveil.privacy import DELTA
from tabveil.schema.drafts import Draft
from tabveil.studio.projects import State


@dataclass(frozen=True)
class Step:
    """One thing that was done, in the two languages that can do it again."""

    command: str
    python: str


def command(*words: object) -> str:
    """A command line that a shell reads as these words."""
    return shlex.join(["tabveil", *map(str, words)])


def open_step(state: State) -> Step:
    """A table gets the draft of a schema."""
    return Step(
        command("schema", "init", state.data, "-o", "schema.yaml"),
        f"data = {state.data!r}",
    )


def schema_step(state: State) -> Step:
    """What is public about the table."""
    return Step(
        command("schema", "check", state.data, "--schema", "schema.yaml"),
        'import tabveil as tv\n\nschema = tv.Schema.load("schema.yaml")',
    )


def plan_step(state: State) -> Step:
    """What a fit would do."""
    words = ["plan", "--schema", "schema.yaml", "--epsilon", f"{state.epsilon:g}"]
    delta = "" if state.delta == DELTA else f", delta={state.delta!r}"
    return Step(
        command(*words, "--rows", state.rows, *_delta(state.delta)),
        "from tabveil.fitting.forecast import forecast\n\n"
        f"plan = forecast(schema, {state.epsilon:g}, rows={state.rows}{delta})\n"
        "print(plan.error)",
    )


def ledger_step(state: State) -> Step:
    """What the table has paid."""
    return Step(
        command("ledger", "show", state.ledger),
        "from tabveil.privacy import Ledger\n\n"
        f"ledger = Ledger.read({state.ledger!r})\nprint(ledger.spent, ledger.left)",
    )


def limit_step(state: State, epsilon: float) -> Step:
    """A limit for all fits on the table."""
    return Step(
        command("ledger", "new", state.ledger, "--epsilon", f"{epsilon:g}", *_delta(state.delta)),
        "from tabveil.privacy import Budget, Ledger\n\n"
        f"limit = Budget({epsilon:g}, {state.delta!r})\n"
        f'Ledger.open({state.ledger!r}, "add-remove", limit).close()',
    )


def fit_words(state: State, schema: str, release: str) -> list[str]:
    """The command that spends, without the program."""
    return [
        "fit", state.data, "--schema", schema, "--epsilon", f"{state.epsilon:g}",
        *_delta(state.delta),
        "--ledger", state.ledger, "-o", release,
    ]  # fmt: skip


def fit_step(state: State) -> Step:
    """The fit itself."""
    delta = "" if state.delta == DELTA else f", delta={state.delta!r}"
    return Step(
        command(*fit_words(state, "schema.yaml", "release")),
        f"model = tv.RAPpp(schema, epsilon={state.epsilon:g}{delta}, ledger={state.ledger!r})\n"
        f'model.fit({state.data!r}, save="release")',
    )


def release_step(rows: int = 1000, where: Sequence[str] = ()) -> Step:
    """Rows and a page from a release."""
    conditions = [word for text in where for word in ("--where", text)]
    return Step(
        command("sample", "release", "-n", rows, *conditions, "-o", "synthetic.csv")
        + "\n"
        + command("report", "release", "-o", "report.html"),
        'release = tv.load("release")\n'
        f"rows = release.sample({rows})\n"
        'rows.to_csv("synthetic.csv", index=False)',
    )


def _delta(delta: float) -> list[str]:
    return [] if delta == DELTA else ["--delta", f"{delta:g}"]


SHELL = """\
#!/bin/sh
# Made by tabveil studio: the whole session again, in an empty folder.
# It spends ε = {epsilon:g} on the table, and adds that to the table's ledger.
{bought}set -eu
DATA=${{1:-{data}}}
LEDGER=${{2:-${{1:+"${{1%%\\?*}}.ledger"}}}}
LEDGER=${{LEDGER:-{ledger}}}

cat > schema.yaml <<'{end}'
{schema}{end}
tabveil plan --schema schema.yaml --epsilon {epsilon:g} --rows {rows}{delta}
{limit}tabveil fit "$DATA" --schema schema.yaml --epsilon {epsilon:g}{delta} \\
  --ledger "$LEDGER" -o release
tabveil report release -o report.html
tabveil sample release -n 1000 -o synthetic.csv
"""

PYTHON = '''\
"""Made by tabveil studio: the whole session again, in an empty folder.

It spends ε = {epsilon:g} on the table, and adds that to the table's ledger.
{bought}"""

import sys
{imports}
import tabveil as tv
from tabveil.fitting.forecast import forecast{privacy}
from tabveil.sources.address import ledger_beside

data = sys.argv[1] if len(sys.argv) > 1 else {data!r}
ledger = sys.argv[2] if len(sys.argv) > 2 else str(ledger_beside(data))

schema = tv.Schema.from_dict(
{schema}
)
print(f"Expected error: {{forecast(schema, {epsilon!r}, rows={rows}, delta={delta!r}).error:.3f}}")
{limit}
model = tv.RAPpp(schema, epsilon={epsilon!r}, delta={delta!r}, ledger=ledger)
model.fit(data, save="release")
model.report("report.html")
model.sample(1000).to_csv("synthetic.csv", index=False)
'''
BOUGHT = "parts of the schema were bought from the table; its ledger must lie beside it."


def shell_script(state: State, document: Draft) -> str:
    """The session as commands; other data and another ledger can be named when it is run."""
    schema = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
    end = "SCHEMA"
    while end in schema:
        end += "_"
    limit = ""
    if state.limit:
        words = " ".join(["--epsilon", f"{state.limit:g}", *_delta(state.limit_delta)])
        limit = f'[ -e "$LEDGER" ] || tabveil ledger new "$LEDGER" {words}\n'
    return SHELL.format(
        epsilon=state.epsilon,
        data=shlex.quote(state.data),
        ledger=shlex.quote(state.ledger),
        end=end,
        schema=schema,
        rows=state.rows,
        delta="".join(f" {word}" for word in _delta(state.delta)),
        limit=limit,
        bought=f"# Mind: {BOUGHT}\n" if document.get("found") else "",
    )


def python_script(state: State, document: dict[str, Any]) -> str:
    """The session as Python."""
    spelled = pprint.pformat(document, sort_dicts=False, width=92)
    limit = (
        "if not Path(ledger).exists():\n"
        f"    limit = Budget({state.limit!r}, {state.limit_delta!r})\n"
        '    Ledger.open(ledger, "add-remove", limit).close()'
        if state.limit
        else ""
    )
    return PYTHON.format(
        epsilon=state.epsilon,
        delta=state.delta,
        data=state.data,
        rows=state.rows,
        schema="\n".join(f"    {line}" for line in spelled.splitlines()),
        limit=limit,
        imports="from pathlib import Path\n" if state.limit else "",
        privacy="\nfrom tabveil.privacy import Budget, Ledger" if state.limit else "",
        bought=f"Mind: {BOUGHT}\n" if document.get("found") else "",
    )
