"""The command line: each command a few lines over the library."""

from tabveil.cli.commands import COMMANDS, app, main
from tabveil.cli.options import EngineName
from tabveil.cli.spending import ledger_beside

__all__ = ["COMMANDS", "EngineName", "app", "ledger_beside", "main"]
