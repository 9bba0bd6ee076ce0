"""The command line: each command a few lines over the library."""

from tabveil.cli.commands import EngineName, app, ledger_beside, main

__all__ = ["EngineName", "app", "ledger_beside", "main"]
