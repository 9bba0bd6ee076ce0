"""The papers that go with a release: a registry's record, Croissant metadata, a review page."""

from collections.abc import Callable
from pathlib import Path

from tabveil.cards import croissant, registry, review
from tabveil.cards.about import About
from tabveil.cards.subject import Subject
from tabveil.machine.files import atomic_folder

CARDS: tuple[Callable[[Subject, Path], None], ...] = (
    registry.write,
    croissant.write,
    review.write,
)


def write_cards(subject: Subject, path: str | Path) -> list[str]:
    """Write all cards into a new folder, and say which files are there now."""
    with atomic_folder(path) as folder:
        for write in CARDS:
            write(subject, folder)
        names = sorted(file.name for file in folder.iterdir())
    return names


__all__ = ["CARDS", "About", "Subject", "write_cards"]
