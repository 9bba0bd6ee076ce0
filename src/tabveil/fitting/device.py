"""JAX and the device it runs on: set up once, and woken early, for a GPU takes seconds to wake.

JAX is imported inside functions, so that the driver of a GPU can be called while JAX itself is
loaded, and commands that need no JAX do not load it.
"""

import ctypes
import os
from importlib.util import find_spec
from pathlib import Path
from threading import Thread


def set_up() -> None:
    """Let the next run start warm, and leave others room on a GPU; before JAX is loaded.

    JAX keeps compiled programs (public shapes and code, no data) on disk.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache / "tabveil" / "programs"))
    # On a GPU even small programs add up.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    # A fit needs a few hundred megabytes of a GPU; without this JAX takes three quarters of it.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def wake_driver() -> None:
    """Open the first GPU if JAX would use one: JAX itself opens it while all threads wait."""
    if find_spec("jax_plugins") and os.environ.get("JAX_PLATFORMS") != "cpu":
        Thread(target=_open_first_gpu).start()


def wake() -> None:
    """Let JAX find its device and move something there, while modules load and rows are read."""
    import jax
    import numpy as np

    Thread(target=lambda: jax.block_until_ready(jax.device_put(np.zeros(1)))).start()


def _open_first_gpu() -> None:
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:  # another kind of device
        return
    gpu, context = ctypes.c_int(), ctypes.c_void_p()
    if cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(gpu), 0) == 0:
        cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), gpu)  # the one that JAX will share
