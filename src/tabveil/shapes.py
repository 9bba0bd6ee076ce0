"""Shapes of arrays in signatures: for readers, for mypy, and for the tests, which check them.

Whoever fits or samples needs none of it, and importing jaxtyping takes a tenth of the time of a
whole `tabveil sample`. So it is used where it is loaded already, as by the tests; elsewhere a shape
is the kind of array alone.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int, Int32, Num, Shaped
else:

    class _Unchecked:
        def __class_getitem__(cls, announced: tuple[Any, str]) -> Any:
            kind, _ = announced
            return kind

    Bool = Float = Int = Int32 = Num = Shaped = _Unchecked

__all__ = ["Bool", "Float", "Int", "Int32", "Num", "Shaped"]
