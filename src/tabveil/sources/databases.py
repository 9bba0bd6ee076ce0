"""Tables in a database, by an address and a table or a query, read from one snapshot."""

import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlencode, urlsplit

import pyarrow as pa

from tabveil.errors import InvalidInput
from tabveil.machine.packages import required
from tabveil.sources.address import Address
from tabveil.sources.reader import OnProgress, Reader, explained, sentence
from tabveil.sources.streams import stored

HINT = "Name one: duckdb:///people.db?table=people, or ?query=SELECT ..."


class DatabaseTable(Reader):
    """A table or a query whose rows stay the same over all passes."""

    advice = "Check the address, the rights to read, and the query."

    def __init__(self, origin: str, what: str) -> None:
        self.origin, self.what = origin, what
        with (
            explained(f"{what} cannot be read.", self.advice),
            self.answers(f"SELECT * FROM {origin} WHERE 1 = 0") as stream,
        ):
            self.names = list(stream.schema.names)

    @abstractmethod
    def answers(self, sql: str) -> AbstractContextManager[pa.RecordBatchReader]:
        """The rows that a query gives, in the snapshot that was taken first."""

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        wanted = ", ".join(map(quoted, columns))
        with self.answers(f"SELECT {wanted} FROM {self.origin}") as stream:
            for batch in stream:
                yield stored(pa.Table.from_batches([batch]))

    def count(self, column: str) -> int:
        with self.answers(f"SELECT count(*) FROM {self.origin}") as stream:
            return int(stream.read_all().column(0)[0].as_py())

    def __reduce__(self) -> NoReturn:
        raise InvalidInput(
            f"{sentence(self.what)} is read on this machine, from one snapshot.",
            "Use engine='local', or export it to Parquet.",
        )


class DuckDbTable(DatabaseTable):
    """A table of a DuckDB file; while it is open, nobody can write to the file."""

    def __init__(self, path: Path, origin: str, what: str) -> None:
        self.path = path
        duckdb = required("duckdb", "duckdb", "Reading a DuckDB file needs")
        if not path.is_file():
            raise InvalidInput(f"The file {path} does not exist.", "Check the name and the folder.")
        with explained(
            f"{path} cannot be opened as a DuckDB file.",
            "Check that it is one, and that no other program has it open to write.",
        ):
            self.connection = duckdb.connect(str(path), read_only=True)
        super().__init__(origin, what)

    @contextmanager
    def answers(self, sql: str) -> Iterator[pa.RecordBatchReader]:
        with self.connection.cursor() as cursor:
            yield pa.RecordBatchReader.from_stream(cursor.sql(sql))

    def files_here(self) -> list[Path]:
        return [self.path]


class PostgresTable(DatabaseTable):
    """A table of a PostgreSQL server, through ADBC, in one read-only transaction."""

    def __init__(self, address: str, origin: str, what: str) -> None:
        adbc = required("adbc_driver_postgresql.dbapi", "postgresql", "Reading PostgreSQL needs")
        with explained(
            "the PostgreSQL server cannot be reached.",
            "Check host, user and password; `psql` with the same address should get in.",
        ):
            self.connection = adbc.connect(address)
            weakref.finalize(self, self.connection.close)
            with self.connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self.address = urlsplit(address)
        super().__init__(origin, what)

    @contextmanager
    def answers(self, sql: str) -> Iterator[pa.RecordBatchReader]:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            yield cursor.fetch_record_batch()

    def identity(self) -> list[tuple[str, int, int]]:
        server = self.address
        return [(f"{server.hostname}:{server.port}{server.path} {self.origin}", 0, 0)]


def duckdb_file(path: Path, table: str = "", query: str = "") -> DuckDbTable:
    """The reader of a DuckDB file: of the table or query that is declared, or of its only table."""
    if not table and not query:
        table = _only_table(path)
    origin, name = _origin(table, query)
    return DuckDbTable(path, origin, f"{name} of the DuckDB file {path.name}")


def _duckdb(address: Address) -> Reader:
    origin, name = _origin(**_asked(address))
    path = address.local
    return DuckDbTable(path, origin, f"{name} of the DuckDB file {path.name}")


def _postgres(address: Address) -> Reader:
    asked = _asked(address)
    rest = {name: text for name, text in address.declared.items() if name not in asked}
    origin, name = _origin(**asked)
    whole = f"{address.place}?{urlencode(rest)}" if rest else address.place
    return PostgresTable(whole, origin, f"{name} of a PostgreSQL database")


DATABASES: dict[str, Callable[[Address], Reader]] = {
    "duckdb": _duckdb,
    "postgresql": _postgres,
    "postgres": _postgres,
}
"""What an address of a database begins with, and what opens it."""


def quoted(name: str) -> str:
    """A name as SQL wants it, whatever signs it has."""
    return '"' + name.replace('"', '""') + '"'


def _asked(address: Address) -> dict[str, str]:
    return {name: address.declared[name] for name in ("table", "query") if name in address.declared}


def _origin(table: str = "", query: str = "") -> tuple[str, str]:
    """What stands behind FROM, and what it is in words."""
    if bool(table) == bool(query):
        raise InvalidInput("A database needs one table or one query.", HINT)
    if query:
        return f"({query.strip().rstrip(';')}) AS asked", "a query"
    return ".".join(map(quoted, table.split("."))), f"the table {table}"


def _only_table(path: Path) -> str:
    listed = DuckDbTable(path, "duckdb_tables()", f"the list of tables of {path.name}")
    with listed.answers("SELECT table_name FROM duckdb_tables()") as stream:
        tables = stream.read_all().column(0).to_pylist()
    if len(tables) != 1:
        raise InvalidInput(f"{path} holds {len(tables)} tables.", HINT)
    return str(tables[0])
