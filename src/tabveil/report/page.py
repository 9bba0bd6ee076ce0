"""Pages from blocks: one template turns sections, which are data, into HTML complete in itself."""

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from tabveil.machine.files import atomic_write, require_new
from tabveil.report.plot import require

SHOWN_ROWS = 300  # of a long table; the download has all of them


@dataclass(frozen=True)
class Prose:
    """Plain sentences."""

    kind: ClassVar[str] = "prose"
    text: str


@dataclass(frozen=True)
class Note:
    """Something to keep in mind; `grave` where it must not be overlooked."""

    kind: ClassVar[str] = "note"
    text: str
    grave: bool = False


@dataclass(frozen=True)
class Figures:
    """A few numbers worth reading first, each with what it is and one line of explanation."""

    kind: ClassVar[str] = "figures"
    items: Sequence[tuple[str, str, str]]  # what, number, meaning


@dataclass(frozen=True)
class Points:
    """A list."""

    kind: ClassVar[str] = "points"
    items: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Something to type, or to paste."""

    kind: ClassVar[str] = "code"
    text: str


@dataclass(frozen=True)
class Grid:
    """A table; `marked` is the row to stand out, a long one is folded up."""

    kind: ClassVar[str] = "grid"
    name: str  # of the file to download
    caption: str
    frame: pd.DataFrame
    folded: bool = False
    marked: int | None = None

    @property
    def numeric(self) -> list[bool]:
        """Which columns are set flush right."""
        return [self._is_figure(name) for name in self.frame.columns]

    def _is_figure(self, name: str) -> bool:
        texts = self.frame[name].astype(str)
        return bool(len(texts)) and bool(texts.str.match(r"^[<>≥≤−-]?[\d.,]*\d( ?%)?$|^–$").all())

    @property
    def rows(self) -> list[list[str]]:
        """The cells to show."""
        return self.frame.head(SHOWN_ROWS).astype(str).to_numpy().tolist()

    @property
    def data(self) -> dict[str, Any]:
        """What the download is made of."""
        return json.loads(self.frame.to_json(orient="split", index=False))


@dataclass(frozen=True)
class Chart:
    """A picture with a title, and what it shows in `words`, which a screen reader says, too."""

    kind: ClassVar[str] = "chart"
    title: str
    words: str
    spec: dict[str, Any]
    name: str = ""  # of the file to download, if its numbers may be

    @classmethod
    def of(cls, title: str, words: str, chart: Any, name: str = "") -> "Chart":
        """From an altair chart; the page chooses its width, font and background."""
        spec = {**chart.to_dict(validate=False), "width": "container"}
        spec.pop("config", None)
        spec.pop("$schema", None)
        return cls(title, words, spec, name)

    @property
    def height(self) -> int:
        """Room to keep free until it is drawn."""
        return int(self.spec.get("height", 200)) + 26


@dataclass(frozen=True)
class Charts:
    """Small charts side by side, with what they have in common said once."""

    kind: ClassVar[str] = "charts"
    charts: Sequence[Chart]
    key: Sequence[tuple[str, str]] = ()  # colour and meaning


Block = Prose | Note | Figures | Points | Code | Grid | Chart | Charts


@dataclass(frozen=True)
class Section:
    """One part of a page."""

    anchor: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A whole page; `banner` is shown on every screen and every printed sheet."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    banner: str = ""
    footer: str = ""
    language: str = field(default="en", kw_only=True)

    def _repr_html_(self) -> str:
        """The page inside a notebook, in a frame of its own so that its style stays there."""
        return f'<iframe srcdoc="{html.escape(self.html())}" width="100%" height="800"></iframe>'

    def save(self, path: str | Path) -> None:
        """Write the page; a file that exists is not overwritten."""
        require_new(path)
        atomic_write(path, self.html().encode())

    def html(self) -> str:
        """The page as one file without any reference to another."""
        environment = require("jinja2").Environment(
            autoescape=True, trim_blocks=True, lstrip_blocks=True
        )
        environment.filters["script"] = _inside_script
        words = {name: _template(name) for name in ("page.html", "page.css", "page.js")}
        return environment.from_string(words["page.html"]).render(
            page=self, style=words["page.css"], script=words["page.js"], charting=_charting()
        )


def _template(name: str) -> str:
    return (files("tabveil.report") / "templates" / name).read_text(encoding="utf-8")


def _inside_script(content: Any) -> Any:
    """JSON that cannot end the script element around it."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return require("markupsafe").Markup(text.replace("<", "\\u003c"))


@lru_cache(maxsize=1)
def _charting() -> Any:
    """Vega and Vega-Lite as one script, from the package that carries them; nothing is fetched."""
    bundle = require("vl_convert").javascript_bundle()
    return require("markupsafe").Markup(bundle.replace("</script", "<\\/script"))
