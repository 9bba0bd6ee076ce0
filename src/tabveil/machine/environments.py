"""Virtual environments for programs of others, whose pins conflict with everyone's."""

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

from tabveil.errors import TabveilError


def folder_of_environments() -> Path:
    """Where they are kept; TABVEIL_VENVS names another place."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("TABVEIL_VENVS") or cache / "tabveil" / "venvs")


def python_of(name: str) -> Path:
    """The Python of an environment, which may not be there yet."""
    return folder_of_environments() / name / "bin" / "python"


def make_environment(name: str, packages: Sequence[str], title: str) -> Path:
    """Make an environment and fill it; one that could not be filled is not left half done."""
    folder = folder_of_environments() / name
    venv.create(folder, with_pip=True, clear=True)
    python = python_of(name)
    print(f"Installing {title} into {folder}; this takes minutes ...", file=sys.stderr)
    asked = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    ended = subprocess.run([*asked, *packages], stdout=sys.stderr)
    if ended.returncode:
        python.unlink(missing_ok=True)  # what `python_of` names is there only if it works
        raise TabveilError(f"pip could not install {title}.", "Its own words stand above.")
    return folder


def environment_variables() -> dict[str, str]:
    """The variables of this process without those that lead Python to this environment."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
