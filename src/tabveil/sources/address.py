"""Where a table lies and what its owner declares about it: people.csv?separator=;&decimal=,"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qsl, quote

from tabveil.errors import InvalidInput

HINT = "Such as 'people.csv?separator=;&decimal=,' or 'duckdb:///people.db?table=people'."


@dataclass(frozen=True)
class Address:
    """A place, and what is declared behind a question mark."""

    place: str
    declared: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: str | Path) -> "Address":
        """Nothing is declared where a file has just that name, question mark and all."""
        text = str(data)
        place, sign, rest = text.partition("?")
        if not sign or ("://" not in text and Path(text).exists()):
            return cls(text)
        try:
            pairs = parse_qsl(rest, keep_blank_values=True, strict_parsing=True)
        except ValueError:
            raise InvalidInput(f"What {place}?... declares is not understood.", HINT) from None
        return cls(place, dict(pairs))

    def __str__(self) -> str:
        """The address as it is written, so that it means the same when it is read."""
        declared = "&".join(f"{name}={quote(text, ' ,;|')}" for name, text in self.declared.items())
        return f"{self.place}?{declared}" if declared else self.place

    def absolute(self) -> "Address":
        """The same from everywhere on this machine."""
        if self.scheme == "duckdb":
            return replace(self, place=f"duckdb:///{self.local.absolute()}")
        if self.scheme:
            return self
        return replace(self, place=str(self.local.expanduser().absolute()))

    @property
    def scheme(self) -> str:
        """What stands before ://, in small letters; nothing for a path."""
        return self.place.partition("://")[0].lower() if "://" in self.place else ""

    @property
    def local(self) -> Path:
        """The path that is meant, also behind file:// and duckdb:///."""
        if self.scheme == "duckdb":
            return Path(self.place.partition("://")[2].removeprefix("/"))
        return Path(self.place.removeprefix("file://"))


def ledger_beside(data: str) -> Path:
    """The ledger of a table unless another is named: beside it, where the next fit finds it."""
    path = Address.of(data).local
    # A table in a cluster or in a cloud has no place on this machine:
    # its ledger lies where one works.
    return path.with_name(path.name + ".ledger") if path.exists() else Path(path.name + ".ledger")
