"""People with several rows: of each, the first few are kept, before anything is counted."""

import numpy as np
import pyarrow as pa

from tabveil.columns.cells import plain
from tabveil.columns.tokens import Tokens
from tabveil.columns.words import key

NOBODY = -1  # the place of rows without a name
NO_SIGNS = Tokens()


class Contributions:
    """One pass over the rows that keeps at most `most` of each person, those that come first.

    Rows without a name, or with a sign for none, are dropped: nobody knows whose they are, so that
    no bound could be kept.
    Which rows of a person are kept depends on that person's rows alone, so a table without the
    person keeps exactly the same rows of everybody else.
    """

    def __init__(self, most: int, signs: Tokens = NO_SIGNS) -> None:
        self.most, self.signs = most, signs
        self._places: dict[str, int] = {}
        self._kept = np.zeros(1024, np.int64)

    def __repr__(self) -> str:
        return f"Contributions(most={self.most})"  # and nobody's name

    def keep(self, people: pa.ChunkedArray) -> np.ndarray:
        """Which of the next rows are kept, by whose they are."""
        places = np.concatenate([np.empty(0, np.int64), *map(self._places_of, people.chunks)])
        order = np.argsort(places, kind="stable")
        sorted_places = places[order]
        first = np.searchsorted(sorted_places, sorted_places, "left")
        rank = np.empty(len(places), np.int64)
        rank[order] = np.arange(len(places)) - first
        kept = (places != NOBODY) & (self._kept[places] + rank < self.most)
        np.add.at(self._kept, places[kept], 1)
        return kept

    def _places_of(self, chunk: pa.Array) -> np.ndarray:
        cells = chunk if pa.types.is_dictionary(chunk.type) else plain(chunk).dictionary_encode()
        names = plain(cells.dictionary).to_pylist()
        own = np.array(
            [*(NOBODY if self.signs.absent(v) else self._place(key(v)) for v in names), NOBODY],
            np.int64,
        )
        return own[np.asarray(cells.indices.cast(pa.int64()).fill_null(len(names)))]

    def _place(self, name: str) -> int:
        place = self._places.setdefault(name, len(self._places))
        if place >= len(self._kept):
            self._kept = np.concatenate([self._kept, np.zeros_like(self._kept)])
        return place
