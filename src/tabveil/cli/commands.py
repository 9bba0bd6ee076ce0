"""The list of commands, and the command line that is made of it."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer

from tabveil.cli.consoles import err, out
from tabveil.errors import TabveilError

COMMANDS = {
    "demo": "demo.demo",
    "studio": "studio.studio",
    "schema init": "schema.init_schema",
    "schema check": "schema.check_schema",
    "schema import": "schema.import_schema",
    "schema export": "schema.export_schema",
    "fit": "fit.fit",
    "sample": "sample.sample",
    "replicate": "replicate.replicate",
    "evaluate": "evaluate.evaluate",
    "audit": "audit.audit",
    "report": "report.report",
    "card": "card.card",
    "plan": "plan.plan",
    "bench": "bench.bench",
    "ledger new": "ledger.new_ledger",
    "ledger show": "ledger.show_ledger",
    "ledger verify": "ledger.verify_ledger",
}
"""Each command with its file in this room and its function there, loaded when it is asked for."""
GROUPS = {
    "schema": "Draft and check the schema: what may be known about a table.",
    "ledger": "What was spent on a dataset, and what is left.",
}


def assembled(first_word: str = "") -> typer.Typer:
    """The command line with the commands that begin so, alone or in a group; or else with all."""
    app = typer.Typer(
        name="tabveil",
        no_args_is_help=True,
        # a pretty traceback prints local variables, and those may hold rows
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
    )
    app.callback()(tabveil)
    groups = {name: typer.Typer(help=text, no_args_is_help=True) for name, text in GROUPS.items()}
    asked = [words for words in COMMANDS if words.split()[0] == first_word]
    for words in asked or COMMANDS:
        *group, name = words.split()
        (groups[group[0]] if group else app).command(name)(command_of(words))
    for name, commands in groups.items():
        app.add_typer(commands, name=name)
    return app


def command_of(words: str) -> Callable[..., None]:
    """The function behind a command of the list."""
    file, function = COMMANDS[words].split(".")
    found: Callable[..., None] = getattr(import_module(f"tabveil.cli.{file}"), function)
    return found


def _say_version(asked: bool) -> None:
    if asked:
        out.print(f"tabveil {version('tabveil')}", highlight=False)
        raise typer.Exit


def tabveil(
    asked: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Say which version this is."
        ),
    ] = False,
) -> None:
    """Differentially private synthetic tables: fit once, sample as often as you like."""


def main() -> None:
    """Run the commands; a user's mistake ends in one line and an exit code, never a traceback."""
    try:
        assembled(sys.argv[1] if len(sys.argv) > 1 else "")()
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
