"""Tables that are worked on: a folder each, with the draft of a schema and what was decided."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tabveil import disk
from tabveil.errors import InvalidInput, TabveilError
from tabveil.fitting.forecast import ROWS
from tabveil.machine.files import atomic_write
from tabveil.privacy import DELTA
from tabveil.schema import Schema
from tabveil.schema.drafts import Draft, draft_of_names, taken_over
from tabveil.sources import opened
from tabveil.sources.address import Address, ledger_beside
from tabveil.sources.formats.csv import CsvFile
from tabveil.sources.source import NAMELESS

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
STATE = "studio.json"


@dataclass
class State:
    """What the owner of a table has said so far. All of it is public."""

    data: str
    ledger: str
    draft: Draft
    version: int = 0  # counts changes, so that two tabs do not overwrite each other
    origins: dict[str, str] = field(default_factory=dict)  # of rules that nobody typed in
    people: str = ""  # whether somebody can have several rows: one or many; else not asked yet
    epsilon: float = 1.0
    delta: float = DELTA
    rows: int = ROWS
    limit: float | None = None  # ε of the ledger's limit, if it was set here
    limit_delta: float = DELTA


class Stale(TabveilError):
    """Another tab was faster."""


class Project:
    """One table: its folder, and its state in a file there, which tabs and servers share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def key(self) -> str:
        """What addresses call it."""
        return self.folder.name

    def state(self) -> State:
        """What was decided so far, as it stands on disk now."""
        file = self.folder / STATE
        try:
            return State(**json.loads(file.read_bytes()))
        except (TypeError, ValueError):
            raise InvalidInput(
                f"{file} is damaged, or was written by another version.",
                "Move it away to begin anew; releases beside it stay as they are.",
            ) from None

    @contextmanager
    def change(self, version: int | None = None, *, in_passing: bool = False) -> Iterator[State]:
        """Yield the state to be changed; refused if it is not the one that somebody looked at.

        What is kept `in_passing`, while somebody still types, leaves the forms of the page valid.
        """
        with self._alone():
            state = self.state()
            if version is not None and version != state.version:
                raise Stale(
                    "This table was changed in another tab meanwhile; here is how it stands now.",
                    "Look at it, then make your change again.",
                )
            yield state
            state.version += not in_passing
            self.write(state)

    def take_over(self, file: Path) -> None:
        """Begin with a schema that was written before."""
        document = Schema.load(file).to_dict()
        with self.change() as state:
            state.draft = taken_over(state.draft, document)
            known = [name for name in document["columns"] if name in state.draft["columns"]]
            state.origins |= dict.fromkeys(known, f"from {file.name}")
            state.people = "many" if "privacy" in document else state.people

    def write(self, state: State) -> None:
        """Put the state on disk, whole or not at all."""
        atomic_write(self.folder / STATE, json.dumps(asdict(state), ensure_ascii=False).encode())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            disk.lock_in_turn(handle)
            yield
        finally:
            os.close(handle)


@dataclass(frozen=True)
class Workplace:
    """The folder in which the studio writes, and nowhere else but into the ledgers of tables."""

    folder: Path

    def tables(self) -> dict[str, Project]:
        """The tables that were opened here, by the paths of their files; damaged ones left out."""
        found: dict[str, Project] = {}
        for place in sorted(self.folder.glob(f"*/{STATE}")):
            project = Project(place.parent)
            with suppress(InvalidInput):
                if KEY.fullmatch(project.key):
                    found[project.state().data] = project
        return found

    def project(self, key: str) -> Project:
        """The table of this name."""
        found = Project(self.folder / key)
        if not KEY.fullmatch(key) or not (found.folder / STATE).is_file():
            raise InvalidInput("There is no such table here.", "Choose one on the first screen.")
        return found

    def open_table(self, data: str, *, header: bool = False) -> Project:
        """Begin with a table, or go on with it; of its file only the header is read.

        `header` says that the first line holds the names, odd as they look.
        """
        address = Address.of(data).absolute()
        known = self.tables().get(str(address))
        if known:
            return known
        reader = opened(str(address))
        if isinstance(reader, CsvFile) and reader.other_mark and not address.declared:
            raise OtherMark(reader.what, reader.other_mark)
        if reader.in_doubt and not header:
            raise InDoubt(f"The first line of {reader.what} looks like data.", NAMELESS)
        require_names(reader.names, reader.what)
        project = Project(self._free_folder(address.local.name))
        ledger = ledger_beside(str(address)).absolute()
        project.write(State(str(address), str(ledger), draft_of_names(reader.names)))
        return project

    def _free_folder(self, name: str) -> Path:
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", name.split(".")[0]).strip("-_")[:40] or "table"
        for number in range(1, 10_000):
            folder = self.folder / (stem if number == 1 else f"{stem}-{number}")
            try:
                folder.mkdir(parents=True, mode=0o700)
            except FileExistsError:
                continue
            return folder
        raise InvalidInput("There are too many tables here.", "Name another folder with --out.")


def require_names(names: Sequence[str], what: str) -> None:
    """Refuse a header in which columns cannot be told apart."""
    if len(set(names)) < len(names) or not all(names):
        raise InvalidInput(
            f"The header of {what} has an empty name, or one name twice.",
            "Give every column a name of its own.",
        )


class OtherMark(TabveilError):
    """Something else than commas seems to stand between cells: is for the owner to say."""

    def __init__(self, what: str, mark: str) -> None:
        super().__init__(
            f"By its first line, {what} is not separated by commas.", "Say how it is written."
        )
        self.mark = mark


class InDoubt(TabveilError):
    """Whether the first line holds names is for the owner to say."""
