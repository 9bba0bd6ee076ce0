"""Draft, check, import and export the schema: what may be known about a table."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import tabveil as tv
from tabveil.checking import check_table
from tabveil.cli.consoles import out, say
from tabveil.cli.options import AsJson, Data, LedgerFile, SchemaFile, ToolName
from tabveil.cli.spending import say_spent_before
from tabveil.discovery import DELTA, found_document
from tabveil.errors import InvalidInput
from tabveil.machine.files import require_new
from tabveil.privacy import Relation
from tabveil.schema import TODO, read_document, save_document
from tabveil.schema.importers import IMPORTERS
from tabveil.sources import opened
from tabveil.sources.address import ledger_beside
from tabveil.sources.drafting import draft_schema


def init_schema(
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
    delta: Annotated[float, typer.Option(help="The δ of what is found.")] = DELTA,
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", help="With --epsilon: search only this column; repeat for more."),
    ] = None,
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
    schema.yaml`
    """
    require_new(schema)
    person = _person(unit, max_rows)
    if columns and epsilon is None:
        raise InvalidInput("--column says what --epsilon searches.", "Give --epsilon, too.")
    if epsilon is None:
        draft = _drafted(_named(data, header), public, person)
        save_document(draft, schema)
    elif public:
        raise InvalidInput(
            "--public copies for free what --epsilon would pay for.", "Give one of them."
        )
    else:
        ledger = ledger or ledger_beside(data)
        say_spent_before(ledger)
        draft = found_document(
            _named(data, header),
            epsilon=epsilon,
            delta=delta,
            ledger=ledger,
            neighbours=neighbours.value,
            privacy=person,
            columns=columns or None,
            save=schema,
        )
        say(f"The cost is in {ledger}, where every fit on this table will be, too.")
    todo = " Replace each TODO by what is publicly known; do not read it off the data."
    guessed = (
        " Types were guessed from the cells: check them, too. Whole numbers with few values are "
        "drafted as categories, numbers with a few texts among them as numbers; if these stand "
        "for missing cells, write e.g. missing: [N]."
    )
    rest = (todo if _todos(draft) else "") + ("" if public or epsilon else guessed)
    say(f"Wrote {schema} with {len(draft['columns'])} columns.{rest}")


def _person(unit: str | None, max_rows: int | None) -> dict[str, Any] | None:
    """Whose rows are protected together, where people have several."""
    if (unit is None) != (max_rows is None):
        raise InvalidInput(
            "--unit and --max-rows go together.", "For example --unit patient --max-rows 5."
        )
    return None if unit is None else {"unit": unit, "max_rows": max_rows}


def _drafted(table: object, public: bool, person: dict[str, Any] | None) -> dict[str, Any]:
    """A draft that costs nothing: TODO, or what the owner calls public."""
    draft = draft_schema(table, public=public)
    if person:
        draft["privacy"] = person
        draft["columns"].pop(person["unit"], None)  # it says whose row it is, and is not learnt
    return draft


def _named(data: str, header: bool) -> object:
    """The table; where its first line looks like data, its owner says if that holds the names."""
    table = opened(data)
    question = f"The first line of {table.what} looks like data. Does it hold the column names?"
    if table.in_doubt and (header or (sys.stdin.isatty() and typer.confirm(question))):
        table.in_doubt = False
    return table


def check_schema(data: Data, schema: SchemaFile, as_json: AsJson = False) -> None:
    """Check a table: which rules and constraints are broken, never a value. For the owner's eyes.

    Example: `tabveil schema check people.csv --schema schema.yaml`
    """
    found = check_table(data, tv.Schema.load(schema))
    if as_json:
        print(json.dumps({"ok": not found, "problems": found}))
    elif found:
        out.print("\n".join(f"- {line}" for line in found), markup=False)
        out.print(
            "\n`fit` would run all the same: it maps such cells as docs/schema.md says, and "
            "synthetic rows obey every constraint.",
            markup=False,
        )
    else:
        out.print("Every cell fits the schema, and every row obeys its constraints.")
    if found:
        raise typer.Exit(1)


def import_schema(
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


def export_schema(
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


def _todos(draft: dict[str, Any]) -> int:
    """How much a draft leaves to its owner."""
    return sum(list(rule.values()).count(TODO) for rule in draft["columns"].values())
