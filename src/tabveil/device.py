"""JAX and the device it runs on: set up once, and woken early, for a GPU takes seconds to wake."""

import os
from pathlib import Path
from threading import Thread

import jax
import numpy as np


def set_up() -> None:
    """Let the next run start warm, and leave others room on a GPU.

    JAX keeps compiled programs (public shapes and code, no data) on disk.
    """
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tabveil" / "programs"
        jax.config.update("jax_compilation_cache_dir", str(cache))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)  # on a GPU even small ones add up
    # A fit needs a few hundred megabytes of a GPU; without this JAX takes three quarters of it.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def wake() -> None:
    """Let JAX find its device and move something there, while others import modules or read rows."""
    Thread(target=lambda: jax.block_until_ready(jax.device_put(np.zeros(1)))).start()
