"""Write the papers that go with a release."""

from pathlib import Path
from typing import Annotated

import typer

import tabveil as tv
from tabveil.cli.consoles import out
from tabveil.errors import InvalidInput
from tabveil.machine.files import atomic_write, require_new


def card(
    release: Annotated[Path, typer.Argument(help="A folder written by `tabveil fit`.")],
    about: Annotated[
        Path | None, typer.Option(help="Your answers: who, why, where, and why so.")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Write a file with all questions to fill in, and stop.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Synthetic rows that are published with it.")
    ] = None,
    folder: Annotated[Path, typer.Option("-o", "--out", help="A new folder.")] = Path("cards"),
) -> None:
    """Write a registry's record, Croissant metadata and a review page for a release.

    Example: `tabveil card release --questions about.yaml`

    Example: `tabveil card release --about about.yaml --data synthetic.csv -o cards`
    """
    from tabveil.cards import About, Subject, write_cards
    from tabveil.cards.about import HINT
    from tabveil.cards.about import questions as all_questions

    if questions is not None:
        require_new(questions)
        tv.load(release)
        atomic_write(questions, all_questions().encode())
        out.print(f"Wrote {questions}. Fill it in, then: --about {questions}", markup=False)
        return
    if about is None:
        raise InvalidInput("Cards need answers that only a person can give.", HINT)
    require_new(folder)
    if data is not None and not data.is_file():
        raise InvalidInput(f"There is no file {data}.", "Draw one with `tabveil sample`.")
    subject = Subject(tv.load(release), release, About.load(about), data)
    for name in write_cards(subject, folder):
        out.print(f"Wrote {folder / name}.", markup=False)
