"""The page of all commands, made from the command line itself, so that the two cannot drift
apart."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, get_type_hints

import typer
from typer.core import TyperArgument, TyperGroup

from tabveil.cli import app

START = """# Commands

This page is made from the command line itself; `tabveil COMMAND --help` says the same.

Files that exist are never overwritten. Exit codes: 0 done; 1 it could not be done, one line says
why and one what to try; 2 wrong usage; 3 refused, because it would spend more privacy than is left;
130 stopped with Ctrl-C.

`tabveil --install-completion` teaches bash, zsh or fish to complete commands, options and choices
with the Tab key; open a new terminal afterwards. `tabveil --show-completion` prints the script
instead. A Tab takes a second or two, because Python has to start.
"""


def page() -> str:
    """The whole page as Markdown."""
    return "\n".join([START, *(section(name, command) for name, command in commands())])


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with the words that call it, groups opened."""
    yield from _below("tabveil", typer.main.get_command(app))


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(command, TyperGroup):
        for word, inner in command.commands.items():
            yield from _below(f"{name} {word}", inner)
    else:
        yield name, command


def examples(command: Any) -> list[str]:
    """The commands that its help text shows."""
    return re.findall(r"Example: `([^`]+)`", command.help or "")


def section(name: str, command: Any) -> str:
    """One command: what it does, an example, its arguments and options."""
    words = re.sub(r"\s*Example: `[^`]+`", "", command.help or "").strip()
    shown = "\n".join(examples(command))
    hints = get_type_hints(command.callback)
    lines = [
        f"## {name}",
        "",
        words,
        "",
        "```bash",
        shown,
        "```",
        "",
        "| option | meaning |",
        "|---|---|",
    ]
    lines += [
        f"| {_spelled(p, hints.get(p.name))} | {_meaning(p)} |"
        for p in command.params
        if p.name in hints
    ]
    return "\n".join([*lines, ""])


def _spelled(parameter: Any, kind: object) -> str:
    if isinstance(parameter, TyperArgument):
        return f"`{parameter.name.upper()}`"
    names = ", ".join(f"`{name}`" for name in parameter.opts)
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        return names
    return f"{names} " + r" \| ".join(f"`{choice.value}`" for choice in kind)


def _meaning(parameter: Any) -> str:
    words = " ".join((parameter.help or "").split()).replace("|", r"\|")
    if parameter.required:
        return f"{words} **Needed.**"
    default = getattr(parameter.default, "value", parameter.default)
    if default is None or default is False or default == [] or "[default" in words:
        return words
    return f"{words} Without it: `{default}`."
