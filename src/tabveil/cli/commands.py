"""The command line: each command a few lines over the library."""

import itertools
import json
import math
import os
import sys
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as Grid

import tabveil as tv
from tabveil.cli.progress import progress_bar, stage_bar
from tabveil.discovery import DELTA as DISCOVERY_DELTA
from tabveil.discovery import found_document
from tabveil.engines import ENGINES, engine_named
from tabveil.errors import InvalidInput, TabveilError
from tabveil.files import require_new
from tabveil.fitting.logs import log_file
from tabveil.fitting.presets import PRESETS
from tabveil.privacy import DELTA, Budget, Ledger, Place, Relation, epsilon_of, rounded_up
from tabveil.release.conditions import spelled_conditions
from tabveil.release.output import write
from tabveil.schema import TODO, read_document, save_document
from tabveil.schema.importers import IMPORTERS
from tabveil.sources import opened
from tabveil.sources.checking import check
from tabveil.sources.drafting import draft_schema

app = typer.Typer(
    name="tabveil",
    no_args_is_help=True,
    # a pretty traceback prints local variables, and those may hold rows
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
schema_app = typer.Typer(
    help="Draft and check the schema: what may be known about a table.", no_args_is_help=True
)
ledger_app = typer.Typer(
    help="What was spent on a dataset, and what is left.", no_args_is_help=True
)
app.add_typer(schema_app, name="schema")
app.add_typer(ledger_app, name="ledger")

out, err = Console(), Console(stderr=True)

PresetName = StrEnum("PresetName", {name: name for name in PRESETS})  # type: ignore[misc]
DEFAULT = PresetName("default")
ToolName = StrEnum("ToolName", {name: name for name in IMPORTERS})  # type: ignore[misc]
EngineName = StrEnum("EngineName", {name: name for name in ENGINES})  # type: ignore[misc]
HERE = EngineName("local")
Delta = Annotated[
    float | None,
    typer.Option(help="The privacy budget δ. [default: 1e-9; 1/n² for paper with substitute]"),
]
Data = Annotated[
    Path, typer.Argument(help="A .csv, .csv.gz or .parquet file, or a folder of Parquet files.")
]
Table = Annotated[
    str,
    typer.Argument(
        help=(
            "A .csv, .csv.gz or .parquet file, a folder of Parquet files (also s3://...), or a "
            "Spark table."
        )
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger", help="Where costs are written down. [default: DATA.ledger, beside the data]"
    ),
]
SchemaFile = Annotated[Path, typer.Option("--schema", help="The schema file, YAML or JSON.")]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target", help="A column to predict, instead of the schema's targets; repeat for more."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def _say_version(asked: bool) -> None:
    if asked:
        out.print(f"tabveil {version('tabveil')}", highlight=False)
        raise typer.Exit


@app.callback()
def tabveil(
    asked: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Say which version this is."
        ),
    ] = False,
) -> None:
    """Differentially private synthetic tables: fit once, sample as often as you like."""


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("-o", "--out", help="Where to put the files.")] = Path(
        "tabveil-demo"
    ),
    epsilon: Annotated[float, typer.Option(help="The privacy budget ε.")] = 1.0,
    rows: Annotated[int, typer.Option(min=1000, help="How many people to simulate.")] = 50_000,
) -> None:
    """Try everything on a simulated census: fit, sample, compare.

    Example: `tabveil demo -o demo`
    """
    from tabveil.cli.demo import run_demo

    run_demo(_free(folder), epsilon, rows, out)


def _free(folder: Path) -> Path:
    """The folder, or the first of folder-2, folder-3, ... that does not exist yet: nothing is
    overwritten."""
    names = itertools.chain(
        [folder], (folder.with_name(f"{folder.name}-{i}") for i in itertools.count(2))
    )
    return next(name for name in names if not os.path.lexists(name))


@schema_app.command("init")
def schema_init(
    data: Data,
    schema: Annotated[Path, typer.Option("-o", "--out", help="Where to write the draft.")] = Path(
        "schema.yaml"
    ),
    public: Annotated[
        bool,
        typer.Option(
            "--public", help="The data's own categories and ranges may be published: copy them."
        ),
    ] = False,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Find categories and ranges with differential privacy, at this ε."),
    ] = None,
    delta: Annotated[float, typer.Option(help="The δ of what is found.")] = DISCOVERY_DELTA,
    ledger: LedgerFile = None,
    neighbours: Annotated[Relation, typer.Option(help="What is protected.")] = Relation.ADD_REMOVE,
    unit: Annotated[
        str | None,
        typer.Option(
            help="The column that says whose row it is, where people with several are protected."
        ),
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option(min=1, help="How many rows of each person are kept, with --unit.")
    ] = None,
    header: Annotated[
        bool,
        typer.Option(
            "--header", help="The first line of the CSV file holds names, odd as they look."
        ),
    ] = False,
) -> None:
    """Draft a schema: names and types, with TODO where only you may say what is public.

    Example: `tabveil schema init people.csv -o schema.yaml`

    Example: `tabveil schema init people.csv --epsilon 0.1 -o schema.yaml`

    Example: `tabveil schema init visits.csv --epsilon 0.1 --unit patient --max-rows 5 -o
    schema.yaml`"""
    require_new(schema)
    if (unit is None) != (max_rows is None):
        raise InvalidInput(
            "--unit and --max-rows go together.", "For example --unit patient --max-rows 5."
        )
    person = {"unit": unit, "max_rows": max_rows} if unit is not None else None
    if epsilon is None:
        draft = draft_schema(_named(data, header), public=public) | (
            {"privacy": person} if person else {}
        )
        if unit is not None:
            draft["columns"].pop(unit, None)  # it says whose row it is, and is not learnt
        save_document(draft, schema)
    elif public:
        raise InvalidInput(
            "--public copies for free what --epsilon would pay for.", "Give one of them."
        )
    else:
        ledger = ledger or ledger_beside(str(data))
        _say_spent_before(ledger)
        draft = found_document(
            _named(data, header),
            epsilon=epsilon,
            delta=delta,
            ledger=ledger,
            neighbours=neighbours.value,
            privacy=person,
            save=schema,
        )
        _say(f"The cost is in {ledger}, where every fit on this table will be, too.")
    todo = " Replace each TODO by what is publicly known; do not read it off the data." * bool(
        _todos(draft)
    )
    guessed = "" if public or epsilon else " Types were guessed from the cells: check them, too."
    _say(f"Wrote {schema} with {len(draft['columns'])} columns.{todo}{guessed}")


def _named(data: Path, header: bool) -> object:
    """The table; where its first line looks like data, its owner says whether that holds the
    names."""
    table = opened(data)
    question = f"The first line of {table.what} looks like data. Does it hold the column names?"
    if table.in_doubt and (header or (sys.stdin.isatty() and typer.confirm(question))):
        table.in_doubt = False
    return table


@schema_app.command("check")
def schema_check(data: Data, schema: SchemaFile, as_json: AsJson = False) -> None:
    """Check a table against its schema; names columns and rules, never a value. For the owner's
    eyes.

    Example: `tabveil schema check people.csv --schema schema.yaml`
    """
    found = check(data, tv.Schema.load(schema))
    if as_json:
        print(json.dumps({"ok": not found, "problems": found}))
    elif found:
        out.print("\n".join(f"- {line}" for line in found), markup=False)
        out.print(
            "\n`fit` would run all the same and map such cells as docs/schema.md says.",
            markup=False,
        )
    else:
        out.print("Every cell fits the schema.")
    if found:
        raise typer.Exit(1)


@schema_app.command("import")
def schema_import(
    file: Annotated[Path, typer.Argument(help="A schema file of another tool, YAML or JSON.")],
    tool: Annotated[ToolName, typer.Option("--from", help="Whose file it is.")],
    schema: Annotated[Path, typer.Option("-o", "--out", help="Where to write the draft.")] = Path(
        "schema.yaml"
    ),
) -> None:
    """Draft a schema from another tool's, with TODO where that says too little.

    Example: `tabveil schema import metadata.json --from sdv -o schema.yaml`
    """
    require_new(schema)
    document = read_document(file)
    if not isinstance(document, dict):
        raise InvalidInput(f"{file} is not a mapping.", "Is this a file of that tool?")
    draft = IMPORTERS[tool.value].read(document)
    save_document(draft, schema)
    todo = _todos(draft)
    rest = f" Replace {todo} TODO by what is publicly known." if todo else ""
    out.print(f"Wrote {schema} with {len(draft['columns'])} columns.{rest}", markup=False)


@schema_app.command("export")
def schema_export(
    schema: Annotated[Path, typer.Argument(help="A schema file, YAML or JSON.")],
    tool: Annotated[ToolName, typer.Option("--to", help="Whose format to write.")],
    file: Annotated[Path, typer.Option("-o", "--out", help="A .yaml or .json file.")],
) -> None:
    """Write a schema in another tool's format; what that cannot say is left out.

    Example: `tabveil schema export schema.yaml --to sdv -o metadata.json`
    """
    require_new(file)
    save_document(IMPORTERS[tool.value].write(tv.Schema.load(schema)), file)
    out.print(f"Wrote {file}.", markup=False)


@app.command()
def fit(
    data: Table,
    schema: SchemaFile,
    release: Annotated[Path, typer.Option("-o", "--out", help="The release folder to write.")],
    epsilon: Annotated[float, typer.Option(help="The privacy budget ε.")],
    delta: Delta = None,
    targets: Targets = None,
    preset: Annotated[PresetName, typer.Option(help="How to spend the budget.")] = DEFAULT,
    neighbours: Annotated[
        Relation,
        typer.Option(help="What is protected: one row added or removed, or one row replaced."),
    ] = Relation.ADD_REMOVE,
    seed: Annotated[
        int,
        typer.Option(
            help="Drives public choices such as the start of the optimiser; never the noise."
        ),
    ] = 0,
    ledger: LedgerFile = None,
    engine: Annotated[EngineName, typer.Option(help="Where rows are counted.")] = HERE,
    scheduler: Annotated[
        str | None, typer.Option(help="The cluster: a Dask scheduler's address or a Spark master.")
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            "--log-file", help="Append the course of the fit to this file; nothing private."
        ),
    ] = None,
) -> None:
    """Spend the budget once and write a release that anyone may sample from.

    Example: `tabveil fit people.csv --schema schema.yaml --epsilon 1 --target income -o release`
    """
    require_new(release)
    ledger = ledger or ledger_beside(data)
    model = tv.RAPpp(
        tv.Schema.load(schema),
        epsilon,
        delta=delta,
        targets=targets or None,
        preset=preset.value,
        neighbours=neighbours.value,
        seed=seed,
        ledger=ledger,
        engine=engine_named(engine.value, scheduler),
    )
    _say_spent_before(ledger)
    with log_file(log), progress_bar(err) as watch:
        model.fit(data, watch=watch, save=release)
    if model.recalled_:
        out.print(
            f"Went on where an earlier run stopped: {model.recalled_} answers were not paid for "
            "again.",
            markup=False,
        )
    out.print(f"Wrote {release}. {model.release_.privacy['promise']}", markup=False)
    _say(f"The cost is in {ledger}. {_spent(Ledger.read(ledger))}")
    out.print(
        f"Next: tabveil sample {release} -n 1000 -o synthetic.csv, "
        f"or tabveil report {release} -o report.html",
        markup=False,
        soft_wrap=True,
    )


def _say(text: str) -> None:
    """One sentence or two, on one line: a terminal breaks it where it likes, a program does not
    have to."""
    out.print(text, markup=False, soft_wrap=True)


def _todos(draft: dict[str, Any]) -> int:
    """How much a draft leaves to its owner."""
    return sum(list(rule.values()).count(TODO) for rule in draft["columns"].values())


def ledger_beside(data: str) -> Path:
    """The ledger of a table unless another is named: beside it, so that the next fit finds it
    again."""
    path = Path(data.removeprefix("file://"))
    # A table in a cluster or in a cloud has no place on this machine: its ledger lies where one
    # works.
    return path.with_name(path.name + ".ledger") if path.exists() else Path(path.name + ".ledger")


def _say_spent_before(ledger: Path) -> None:
    """Tell the owner what this table has paid already: fits add up."""
    try:
        account = Ledger.read(ledger)
    except TabveilError:
        return  # there is none yet, or none that can be read: whoever opens it to spend says which
    if account.charges:
        _say(f"{ledger}: {_spent(account)} This run comes on top.")


def _spent(ledger: Ledger) -> str:
    """All that a ledger has paid, in one sentence."""
    delta = ledger.limit.delta if ledger.limit else DELTA + float(ledger.delta_spent)
    spent = rounded_up(Fraction(epsilon_of(ledger.spent, ledger.delta_left(delta))))
    return f"In all, ε = {spent:g} at δ = {delta:.4g} was spent on this table."


@app.command()
def sample(
    release: Annotated[Path, typer.Argument(help="A folder written by `tabveil fit`.")],
    rows: Annotated[int, typer.Option("-n", "--rows", help="How many synthetic rows.")] = 1000,
    file: Annotated[Path, typer.Option("-o", "--out", help="A .csv or .parquet file.")] = Path(
        "synthetic.csv"
    ),
    seed: Annotated[
        int | None, typer.Option(help="Draw the same rows again. [default: other rows each time]")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Only rows with sex=F, sex=F|M, age=30..40 or wage=missing; repeat for more."
        ),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help=(
                "Write texts to CSV as they are, also those that a spreadsheet would run as "
                "formulas."
            ),
        ),
    ] = False,
) -> None:
    """Draw synthetic rows from a release; costs no budget, as often as you like.

    Example: `tabveil sample release -n 10000 -o synthetic.csv`

    Example: `tabveil sample release -n 1000 --where sex=F --where age=30..40 -o women.csv`
    """
    require_new(file)
    loaded = tv.load(release)
    wanted = spelled_conditions(where or (), loaded.schema)
    with err.status("Drawing rows ..."):
        write(loaded.sample(rows, seed=seed, where=wanted, kind="arrow"), file, raw=raw)
    out.print(f"Wrote {rows:,} synthetic rows to {file}.", markup=False)
    if wanted:
        left, of = loaded.effective_rows(wanted), loaded.probabilities.shape[1]
        out.print(
            f"They rest on about {left:,.0f} of the release's {of:,} relaxed rows.", markup=False
        )


@app.command()
def evaluate(
    real: Annotated[Path, typer.Option(help="The real training rows.")],
    synthetic: Annotated[Path, typer.Option(help="Synthetic rows.")],
    schema: SchemaFile,
    test: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Real rows kept aside; without them there are no model scores and no reference "
                "values."
            )
        ),
    ] = None,
    targets: Targets = None,
    as_json: AsJson = False,
) -> None:
    """Compare synthetic with real rows. NOT private: for the owner's eyes.

    Example: `tabveil evaluate --real train.csv --test test.csv --synthetic s.csv --schema
    schema.yaml`"""
    with stage_bar(err) as watch:
        scores = tv.evaluate(
            real=real,
            test=test,
            synthetic=synthetic,
            schema=tv.Schema.load(schema),
            targets=targets or None,
            watch=watch,
        )
    err.print("NOT PRIVATE: computed from real rows; do not publish.", style="bold red")
    if as_json:
        # Whoever is handed the lines alone must see it, too.
        print(scores.assign(private=False).to_json(orient="records"))
        return
    from tabveil.metrics import summary_table

    out.print(summary_table(scores))


@app.command()
def audit(
    quick: Annotated[
        bool, typer.Option("--quick", help="A few minutes instead of most of an hour.")
    ] = False,
    file: Annotated[
        Path | None, typer.Option("--json", help="Also write the findings to this file.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many processes at a time.")] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Fits per world; more prove more. [default: 400, quick 200]"),
    ] = None,
) -> None:
    """Try to break the privacy claim on worst-case tables, and print how much loss was measured.

    Example: `tabveil audit --quick --json findings.json`

    Example: `tabveil audit --runs 2000 --jobs 16`
    """
    from tabveil.audit import FULL, QUICK
    from tabveil.audit.show import run_audit

    if file:
        require_new(file)
    size = QUICK if quick else FULL
    broken = run_audit(size if runs is None else replace(size, runs=runs), file, out, err, jobs)
    if broken:
        raise TabveilError(
            f"{broken} of the claims did not hold: this build must not be used.", "See SECURITY.md."
        )


@app.command()
def report(
    release: Annotated[Path, typer.Argument(help="A folder written by `tabveil fit`.")],
    file: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="[default: report.html, or internal-NOT-PRIVATE.html]"),
    ] = None,
    internal: Annotated[
        bool,
        typer.Option(
            "--internal", help="Compare with real rows: NOT private, for the owner's eyes."
        ),
    ] = False,
    real: Annotated[
        Path | None, typer.Option(help="The real training rows, for the internal page.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Real rows kept aside, for models and privacy checks.")
    ] = None,
) -> None:
    """Write one offline page about a release: noisy measurements and synthetic rows only, or the
    owner's.

    Example: `tabveil report release -o report.html`
    """
    from tabveil.report import internal_page, page

    if internal != (real is not None):
        raise InvalidInput(
            "The internal page needs real rows, and only the internal page may show them.",
            "Write --internal --real TRAIN together, or neither.",
        )
    file = file or Path("internal-NOT-PRIVATE.html" if internal else "report.html")
    require_new(file)
    loaded = tv.load(release)
    with stage_bar(err) as watch:
        (internal_page(loaded, real, test, watch) if internal else page(loaded, watch)).save(file)
    if internal:
        err.print("NOT PRIVATE: computed from real rows; do not publish.", style="bold red")
    out.print(f"Wrote {file}. Open it in any browser; it needs no network.", markup=False)


@app.command()
def plan(
    schema: SchemaFile,
    epsilon: Annotated[float | None, typer.Option(help="The privacy budget ε.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="About how many rows there are.")] = 10_000,
    delta: Delta = None,
    targets: Targets = None,
    preset: Annotated[PresetName, typer.Option(help="How to spend the budget.")] = DEFAULT,
    neighbours: Annotated[Relation, typer.Option(help="What is protected.")] = Relation.ADD_REMOVE,
    want_error: Annotated[
        float | None,
        typer.Option("--want-error", help="Find the ε for this mean error instead, e.g. 0.01."),
    ] = None,
    file: Annotated[Path | None, typer.Option("-o", "--out", help="Also write a page.")] = None,
    as_json: AsJson = False,
) -> None:
    """What a fit would measure, its noise, error, memory and time; opens no data.

    Example: `tabveil plan --schema schema.yaml --epsilon 1 --rows 50000`
    """
    from tabveil.fitting.forecast import epsilon_for, forecast, summary_tables

    if (epsilon is None) == (want_error is None):
        raise InvalidInput(
            "A plan needs either an ε or a wanted error.", "Give --epsilon or --want-error."
        )
    if file:
        require_new(file)
    declared = tv.Schema.load(schema)
    declared = declared.with_targets(tuple(targets)) if targets else declared
    settings: dict[str, Any] = {
        "delta": delta,
        "rows": rows,
        "relation": neighbours,
        "preset": preset.value,
    }
    if want_error is not None:
        found = epsilon_for(declared, want_error, **settings)
    else:
        found = forecast(declared, epsilon or 0.0, **settings)
    if file:
        from tabveil.fitting.forecast_page import forecast_page

        forecast_page(found).save(file)
    if as_json:
        print(json.dumps(found.to_dict()))
        return
    for part in summary_tables(found):
        out.print(part)
    if file:
        out.print(f"Wrote {file}. Open it in any browser.", markup=False)


@app.command()
def bench(
    config: Annotated[
        Path | None, typer.Argument(help="A TOML file that describes an experiment.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("-o", "--out", help="Where results are kept, cell by cell.")
    ] = Path("results"),
    data: Annotated[
        Path | None,
        typer.Option("--data-dir", help="Where the real tables lie. [default: $TABVEIL_DATA]"),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many cells to run at once.")] = 1,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only this synthesizer of the experiment; repeat for more."),
    ] = None,
    limit: Annotated[
        float | None, typer.Option(help="Seconds after which a cell is given up.")
    ] = None,
    plot: Annotated[
        bool,
        typer.Option("--plot", help="Draw figures and tables from what is finished; run nothing."),
    ] = False,
    figures: Annotated[
        Path | None, typer.Option(help="Where figures and tables go. [default: OUT/figures]")
    ] = None,
    shipped: Annotated[bool, typer.Option("--list", help="Show experiments and systems.")] = False,
    install: Annotated[
        str | None,
        typer.Option(help="Make the environment of a system that needs its own: dpctgan."),
    ] = None,
) -> None:
    """Compare synthesizers on real tables. NOT private: for researchers and the owner's eyes.

    Example: `tabveil bench benchmarks/quick.toml --data-dir tables -o results`

    Example: `tabveil bench benchmarks/quick.toml -o results --plot`
    """
    from tabveil.benchmark import command

    if shipped or install:
        command.show(out) if shipped else command.install(install or "", out)
        return
    if config is None:
        raise InvalidInput(
            "No experiment is named.", "tabveil bench --list shows those that are shipped."
        )
    if plot:
        command.plot(config, folder, figures or folder / "figures", out)
    else:
        command.run(config, folder, data, jobs, only or [], limit, out, err)


@ledger_app.command("new")
def ledger_new(
    file: Annotated[Path, typer.Argument(help="The ledger file to create.")],
    epsilon: Annotated[
        float, typer.Option(help="The most that all fits on this data together may spend.")
    ],
    delta: Annotated[float, typer.Option(help="The δ of that promise.")] = DELTA,
    neighbours: Annotated[
        Relation, typer.Option(help="The relation all fits must use.")
    ] = Relation.ADD_REMOVE,
) -> None:
    """Create a ledger with a limit for all fits on one dataset together.

    Example: `tabveil ledger new people.ledger --epsilon 3`
    """
    require_new(file)
    Ledger.open(file, neighbours, limit=Budget(epsilon, delta)).close()
    out.print(
        f"Wrote {file}: all fits that name it may spend ε = {epsilon:g} together.", markup=False
    )


@ledger_app.command("show")
def ledger_show(
    file: Annotated[Path, typer.Argument(help="A ledger file.")],
    delta: Annotated[
        float | None,
        typer.Option(help="The δ at which to state ε. [default: the limit's, or 1e-9]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What was spent on a dataset, on what, and what is left.

    Example: `tabveil ledger show people.ledger`
    """
    ledger = Ledger.read(file)
    at = delta if delta is not None else ledger.limit.delta if ledger.limit else None
    at = DELTA + float(ledger.delta_spent) if at is None else at
    if as_json:
        print(json.dumps(_account(ledger, at)))
        return
    out.print(_charges(ledger, at))
    out.print(_balance(ledger, at), markup=False)


@ledger_app.command("verify")
def ledger_verify(
    file: Annotated[Path, typer.Argument(help="A ledger file.")],
    releases: Annotated[list[Path], typer.Argument(help="Releases that were charged to it.")],
    as_json: AsJson = False,
) -> None:
    """Check that a ledger still is the one that these releases were charged to: not cut, forked or
    replaced.

    Example: `tabveil ledger verify people.csv.ledger release-2025 release-2026`
    """
    ledger = Ledger.read(file)
    found = {str(path): _trouble(ledger, tv.load(path)) for path in releases}
    if as_json:
        print(json.dumps({"ok": not any(found.values()), "releases": found}))
    else:
        for path, trouble in found.items():
            held = "was charged to this ledger, which still shows it."
            _say(f"{path}: {trouble or held}")
    if any(found.values()):
        raise typer.Exit(1)


def _trouble(ledger: Ledger, release: tv.Release) -> str:
    """Why a ledger cannot be the one that a release was charged to; empty if it can."""
    place = release.privacy.get("ledger")
    if not place:
        return "states no ledger file: it was charged in memory, or made by an older version."
    trouble = ledger.trouble_with(Place(place["first"], place["lines"], place["last"]))
    return trouble and f"this ledger {trouble}."


def _account(ledger: Ledger, delta: float) -> dict[str, Any]:
    """A ledger for programs."""
    return {
        "relation": ledger.relation.value,
        "limit": ledger.limit and {"epsilon": ledger.limit.epsilon, "delta": ledger.limit.delta},
        "rho_spent": str(ledger.spent),
        "rho_left": None if ledger.left is None else str(ledger.left),
        "epsilon_spent": epsilon_of(ledger.spent, ledger.delta_left(delta)),
        "delta": delta,
        "charges": [
            {"when": c.when, "what": c.what, "mechanism": c.mechanism, "rho": str(c.rho)}
            for c in ledger.charges
        ],
    }


def _charges(ledger: Ledger, delta: float) -> Grid:
    """A ledger for people, charge by charge."""
    grid = Grid("when (UTC)", "what", "mechanism", "ρ", "ε so far", box=SIMPLE)
    rest, running = ledger.delta_left(delta), Fraction(0)
    for charge in ledger.charges:
        running += charge.rho
        grid.add_row(
            charge.when[:16].replace("T", " "),
            charge.what,
            charge.mechanism,
            f"{float(charge.rho):.3g}",
            f"{epsilon_of(running, rest):.4g}",
        )
    return grid


def _balance(ledger: Ledger, delta: float) -> str:
    """What was spent and what is left, in one sentence."""
    rest = ledger.delta_left(delta)
    spent = (
        f"ρ = {float(ledger.spent):.4g}, that is ε = {epsilon_of(ledger.spent, rest):.4g} at δ = "
        f"{delta:g}"
    )
    left = "no limit is set"
    if ledger.limit and ledger.left is not None:
        # In hundredths and rounded down, so that a fit with this ε is not refused.
        room = math.floor(epsilon_of(ledger.left, rest) * 100) / 100
        left = f"ρ = {float(ledger.left):.4g} is left of ε = {ledger.limit.epsilon:g}"
        left += f", enough for one more fit with ε = {room:g} at this δ" if room else ""
    return f"Spent so far: {spent}; neighbours {ledger.relation.value}; {left}."


def main() -> None:
    """Run the command line; a user's mistake ends in one line and an exit code, never a
    traceback."""
    try:
        app()
    except TabveilError as problem:
        err.print(str(problem), markup=False, highlight=False, soft_wrap=True)
        sys.exit(problem.exit_code)
    except OSError as problem:
        err.print(
            f"{problem.strerror or 'The system refused'}: {problem.filename or 'a file'}\n"
            "Hint: check the path, its permissions and the free space on the disk.",
            markup=False,
            soft_wrap=True,
        )
        sys.exit(1)
    except Exception as problem:
        if os.environ.get("TABVEIL_DEBUG"):
            raise
        # The text of an unforeseen error may quote a cell, so only its type is shown.
        err.print(
            f"Unexpected {type(problem).__name__}; no release was written, what is spent stays "
            "spent.\n"
            "Hint: TABVEIL_DEBUG=1 shows the traceback (it may quote data: for the owner's eyes).",
            markup=False,
        )
        sys.exit(1)
