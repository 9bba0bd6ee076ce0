"""What the screens say about every choice: a plain name, what it means, and why it is asked."""

import re
from typing import NamedTuple


class Words(NamedTuple):
    """A plain name, one sentence of help, and the answer to "why do you ask?"."""

    label: str
    help: str
    why: str


TYPES = {
    "categorical": "one of a list of values, such as sex or country",
    "boolean": "true or false, also written yes or no",
    "numerical": "a number, such as age or wage",
    "date": "a day, such as a date of birth",
    "datetime": "a day with a time",
    "duration": "a length of time",
    "point": "a place on a map: latitude and longitude",
    "id": "tells rows apart; it is not read, and new ones are made up",
    "follows": "follows from another column, as a density from a region",
    "drop": "leave the column out",
}

FIELDS = {
    "values": Words(
        "Values",
        "One a line, or with commas between. Paste the list of a code book: 1 = male, 2 = female.",
        "Synthetic rows hold these values and no others. A list read off the rows would tell that "
        "somebody has each of them, so take it from a form, a code book or common sense.",
    ),
    "other": Words(
        "Other values may occur",
        "They are counted together, and come back as OTHER.",
        "Without it, what is not on the list is read as missing, or as the first value.",
    ),
    "nullable": Words(
        "Cells may be missing",
        "Then synthetic cells may be missing, too.",
        "Whether anything is missing is a fact about people, so you say whether it may be; "
        "the rows are not asked.",
    ),
    "missing": Words(
        "Signs that mean missing",
        "Such as N or -9, one a line or with commas between. Leave empty if there are none.",
        "Without this, such a sign counts as a value that was not declared.",
    ),
    "ordered": Words(
        "The list is in order",
        "From least to most, such as small, medium, large.",
        "The synthetic column is then an ordered category.",
    ),
    "groups": Words(
        "Groups",
        "For very long lists. One group a line: north: Oslo, Bergen.",
        "Rare values are learnt together with their group.",
    ),
    "of": Words(
        "The column that decides",
        "One that is described, by a list of values or as a number.",
        "This column is then not learnt: what it holds follows from the other one.",
    ),
    "map": Words(
        "What follows from what",
        "One value of the other column a line: north: 12.5. Leave empty where a number decides, or "
        "where nobody knows: then list this column's values below, and the fit buys the rest.",
        "What you say must be public, such as the density of a region in an atlas, and the column "
        "is never read. What is bought is counted in the rows, with noise, for a small price.",
    ),
    "cuts": Words(
        "Cuts",
        "Where a number decides: 18, 65 makes three parts. Leave empty where a list decides.",
        "Each cut belongs to the part above it.",
    ),
    "min": Words(
        "Smallest",
        "The least that could be, not the least that is: 0 for an age.",
        "Numbers below are read as this one. The true smallest number belongs to somebody.",
    ),
    "max": Words(
        "Largest",
        "The most that could be: 120 for an age, 500000 for a wage. Twice too much costs little.",
        "Numbers above are read as this one. The true largest number belongs to somebody.",
    ),
    "decimals": Words(
        "Decimals",
        "0 for whole numbers; empty if numbers are not rounded.",
        "Synthetic numbers are written with so many.",
    ),
    "special_values": Words(
        "Special values",
        "Numbers that mean something else, such as -1 for refused.",
        "They are counted apart, so that they do not spoil the others.",
    ),
    "unit": Words(
        "Told apart to the",
        "Moments closer than this are the same.",
        "The coarser, the less noise there is on each.",
    ),
    "timezone": Words(
        "Time zone",
        "Such as Europe/Berlin; empty for the reading of a clock.",
        "Moments are instants then, also when clocks change.",
    ),
    "format": Words(
        "Format",
        "How the file writes them: %d.%m.%Y for 31.12.2024, %m/%d/%Y for 12/31/2024; empty for "
        "2024-12-31.",
        "Cells that are written otherwise are read as missing.",
    ),
    "style": Words(
        "Style",
        "How new ids are made: counted, random or by a pattern.",
        "Real ids are never read.",
    ),
    "pattern": Words(
        "Pattern", "# stands for a digit and @ for a capital letter: P-######.", "New ids look so."
    ),
    "start": Words("First number", "From where new ids are counted.", "New ids begin here."),
    "latitude": Words(
        "Latitude", "South and north end of the map: 46.0, 47.8.", "Places beyond are moved inside."
    ),
    "longitude": Words(
        "Longitude", "West and east end of the map: 5.9, 10.5.", "Places beyond are moved inside."
    ),
    "grid": Words(
        "Grid", "How many cells from south to north, and west to east.", "Cells are learnt."
    ),
}


# Where a type needs other words than the rest.
DAYS = {
    "min": Words(
        "Earliest",
        "The earliest day that could be, not the earliest that is, as 2013-01-31.",
        "Days before are read as this one. The true first day belongs to somebody.",
    ),
    "max": Words(
        "Latest",
        "The latest day that could be, as 2023-12-31.",
        "Days after are read as this one. The true last day belongs to somebody.",
    ),
}
FOLLOWING = {
    "values": Words(
        "Values of this column",
        "Where a number decides: one for each part, the lowest first: child, adult, old. Where "
        "nobody knows what follows from what: all that can be.",
        "There is one more of them than there are cuts. Without cuts and without a list of what "
        "follows, the fit finds out which of them comes with which value of the other column.",
    ),
    "missing": Words(
        "Signs that mean missing",
        "Such as N or -9. They matter only where the fit finds out what follows.",
        "Otherwise this column is never read.",
    ),
}
SPECIAL = {"date": DAYS, "datetime": DAYS, "follows": FOLLOWING}


def in_words(text: str, kind: str) -> str:
    """What the library says about a column, in the words of its form."""
    start, colon, rest = text.partition(": ")  # names of columns stand before the colon
    rest = rest.replace("it is not nullable", "that was not allowed")
    for field in ("min", "max"):
        rest = re.sub(rf"\b{field}\b", words_for(kind, field, "").label, rest)
    return start + colon + rest


def words_for(kind: str, field: str, wanted: str) -> Words:
    """The words of a field of a type; if there are none, what its rule says it must be."""
    plain = field.replace("_", " ").capitalize()
    otherwise = Words(plain, f"It must be {wanted}.", "The column is read by it.")
    return SPECIAL.get(kind, {}).get(field) or FIELDS.get(field, otherwise)
