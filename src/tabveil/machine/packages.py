"""Packages that the core does without."""

import warnings
from importlib import import_module
from typing import Any

from tabveil.errors import InvalidInput


def required(module: str, extra: str, what_for: str = "This needs") -> Any:
    """A module of an extra, or one line that says how to get it."""
    try:
        with warnings.catch_warnings():  # some warn as they load, about nothing that is done here
            warnings.simplefilter("ignore")
            return import_module(module)
    except ImportError:
        package = module.split(".")[0].replace("_", "-")
        raise InvalidInput(
            f"{what_for} the package {package}, which is not installed.",
            f"Install it with: pip install 'tabveil[{extra}]'",
        ) from None
