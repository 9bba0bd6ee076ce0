"""Draw which room of the code imports which, from the code itself, and list the rooms in words."""

import ast
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from test_layers import SOURCE, imported_rooms, modules, room_of  # noqa: E402

WIDE, HIGH, ACROSS, DOWN = 92, 24, 12, 74  # of a box, and between boxes
DOOR = {"curator": "#d9770a", "privacy": "#d9770a", "release": "#4a86c5"}
STYLE = """<style>
text{font:12px system-ui,sans-serif;text-anchor:middle;fill:#24292f}
rect{fill:#eef0f3;stroke:#7d8590;rx:5px} path{fill:none;stroke:#7d8590;stroke-opacity:.45}
</style>"""


@cache
def imports() -> dict[str, set[str]]:
    """Every room with the rooms that it imports."""
    found: dict[str, set[str]] = {}
    for path in modules():
        found.setdefault(room_of(path), set()).update(imported_rooms(path) - {room_of(path)})
    return {room: below & found.keys() for room, below in sorted(found.items())}


@cache
def reached(room: str) -> frozenset[str]:
    """All rooms below this one."""
    below = imports()[room]
    return frozenset(below).union(*(reached(other) for other in below))


def arrows(room: str) -> set[str]:
    """The imports that do not follow from others: below nothing else that this room imports."""
    below = imports()[room]
    return {other for other in below if not any(other in reached(between) for between in below)}


@cache
def floor(room: str) -> int:
    """How many rooms stand below this one, along the longest way down."""
    return 1 + max((floor(other) for other in imports()[room]), default=-1)


def storeys() -> list[list[str]]:
    """Rooms from the top floor down; on each floor, every room is near those that it stands
    above."""
    floors = [
        [r for r in imports() if floor(r) == level]
        for level in range(max(map(floor, imports())) + 1)
    ]
    place: dict[str, float] = {}
    for rooms in floors:
        rooms.sort(
            key=lambda r: (
                sum(place[o] for o in arrows(r)) / len(arrows(r)) if arrows(r) else 0.5,
                r,
            )
        )
        place |= {room: (number + 0.5) / len(rooms) for number, room in enumerate(rooms)}
    return floors[::-1]


def picture() -> str:
    """The rooms on their floors, with an arrow to what each stands on, as SVG."""
    floors = storeys()
    width = max(map(len, floors)) * (WIDE + ACROSS) + ACROSS
    at = {
        room: (width * (number + 0.5) / len(rooms), 20 + level * DOWN)
        for level, rooms in enumerate(floors)
        for number, room in enumerate(rooms)
    }
    lines = []
    for room, (x, y) in at.items():
        for other in sorted(arrows(room)):
            u, v = at[other]
            top, bottom = y + HIGH / 2, v - HIGH / 2 - 3
            bend = (bottom - top) * 0.5
            lines.append(
                f'<path marker-end="url(#tip)" d="M{x:.0f} {top:.0f}C{x:.0f} {top + bend:.0f} '
                f'{u:.0f} {bottom - bend:.0f} {u:.0f} {bottom:.0f}"/>'
            )
    for room, (x, y) in at.items():
        colour = f' style="stroke:{DOOR[room]};stroke-width:2"' if room in DOOR else ""
        lines.append(
            f'<rect x="{x - WIDE / 2:.0f}" y="{y - HIGH / 2:.0f}" '
            f'width="{WIDE}" height="{HIGH}"{colour}/>'
        )
        lines.append(f'<text x="{x:.0f}" y="{y + 4:.0f}">{room}</text>')
    height = 20 + (len(floors) - 1) * DOWN + 32
    tip = (
        '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="6" markerHeight="6" orient="auto">'
    )
    tip += '<path d="M0 0L8 4L0 8z" style="fill:#7d8590;stroke:none"/></marker>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    return "\n".join([head, STYLE, f"<defs>{tip}</defs>", *lines, "</svg>\n"])


def table() -> str:
    """Every room: what it is for, in its own first sentence, and what it imports."""
    lines = ["| room | for | imports |", "|---|---|---|"]
    for room, below in imports().items():
        named = ", ".join(sorted(below)) or "–"
        lines.append(f"| `{room}` | {_purpose(room)} | {named} |")
    return "\n".join([*lines, ""])


def _purpose(room: str) -> str:
    file = SOURCE / f"{room}.py"
    text = (file if file.exists() else SOURCE / room / "__init__.py").read_text(encoding="utf-8")
    first = (ast.get_docstring(ast.parse(text)) or "").splitlines()[0]
    return first.replace("|", r"\|")
