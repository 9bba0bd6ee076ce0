"""Checks, in the tests alone, that arrays have the shapes that signatures announce."""

from collections.abc import Callable
from inspect import isclass
from typing import Any, get_args

from beartype import beartype
from jax.tree_util import all_leaves
from jaxtyping import AbstractArray, install_import_hook

ROOMS = ("tables", "queries", "curator", "fitting", "baselines", "release")


def check_shapes() -> None:
    """Check the shapes in modules of these rooms that are imported from now on."""
    install_import_hook([f"tabveil.{room}" for room in ROOMS], "shapes.checked")


def checked(function: Callable) -> Callable:
    """The function, refusing arrays of other shapes; all else that it announces is left to mypy."""
    hints = function.__annotations__
    function.__annotations__ = {name: hint for name, hint in hints.items() if is_shape(hint)}
    if not function.__annotations__:
        return function
    strict = beartype(function)
    return checked_outside_jax(strict) if function.__name__ == "__init__" else strict


def is_shape(hint: Any) -> bool:
    """Whether a hint is the shape of an array, or of an array of one kind or another."""
    if isclass(hint):
        return issubclass(hint, AbstractArray)
    return any(is_shape(part) for part in get_args(hint))


def checked_outside_jax(strict: Callable) -> Callable:
    """Unchecked where JAX knows the class: it puts other things in the place of its arrays."""

    def check(made: Any, *arguments: Any, **keywords: Any) -> None:
        if all_leaves([made]):
            strict(made, *arguments, **keywords)

    return check
