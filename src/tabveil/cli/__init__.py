"""The command line: each command a few lines over the library."""

from typing import TYPE_CHECKING, Any

from tabveil.cli.commands import COMMANDS, assembled, main

if TYPE_CHECKING:
    import typer

    app: typer.Typer

__all__ = ["COMMANDS", "app", "assembled", "main"]


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"tabveil.cli has no {name}.")
    globals()["app"] = assembled()  # all commands with all that they load, so only when asked for
    return globals()["app"]
