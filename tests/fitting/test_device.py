"""A GPU is woken early, and nothing is said where there is none."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tabveil import Categorical, Numerical, Schema
from tabveil.fitting import device


class Driver:
    """Answers like the driver of a machine with so many GPUs."""

    def __init__(self, gpus: int) -> None:
        self.gpus, self.opened = gpus, 0

    def cuInit(self, flags: int) -> int:
        return 0 if self.gpus else 100  # CUDA_ERROR_NO_DEVICE

    def cuDeviceGet(self, gpu: object, ordinal: int) -> int:
        return 0 if ordinal < self.gpus else 101  # CUDA_ERROR_INVALID_DEVICE

    def cuDevicePrimaryCtxRetain(self, context: object, gpu: object) -> int:
        self.opened += 1
        return 0


def test_the_driver_can_be_called_before_jax_is_loaded():
    program = "import sys; from tabveil.fitting import device; print('jax' in sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert said.stdout == "False\n"


@pytest.mark.parametrize("gpus", [0, 1, 8])
def test_one_gpu_is_opened_where_there_are_any(gpus, monkeypatch):
    driver = Driver(gpus)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    device._open_first_gpu()
    assert driver.opened == min(gpus, 1)


def test_a_machine_without_a_driver_hears_nothing_of_it(monkeypatch):
    def missing(name: str) -> object:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    device._open_first_gpu()


def test_no_gpu_is_opened_where_jax_is_told_to_use_the_processor(monkeypatch):
    asked = []
    monkeypatch.setattr(device, "find_spec", lambda name: object())
    monkeypatch.setattr(device, "Thread", lambda target: asked.append(target))
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    device.wake_driver()
    assert not asked


def test_rows_of_a_file_are_counted_without_loading_pandas(tmp_path):
    some = {"letter": ["a", "b", None] * 20, "number": [0.5, None, 2.0] * 20}
    pd.DataFrame(some).to_parquet(tmp_path / "rows.parquet")
    letter = Categorical(values=("a", "b"), nullable=True)
    number = Numerical(min=0, max=2, nullable=True)
    Schema(columns={"letter": letter, "number": number}).save(tmp_path / "schema.yaml")
    program = (
        "import sys, numpy as np\n"
        "from tabveil import Schema, cli\n"
        "from tabveil.engines import Local\n"
        "from tabveil.fitting.rows import EncodedRows\n"
        "from tabveil.sources import Source\n"
        "from tabveil.tables.table import Codec\n"
        "schema = Schema.load('schema.yaml')\n"
        "rows = EncodedRows(Source.of(Local().find('rows.parquet'), schema), Codec(schema))\n"
        "print(rows.total(lambda table: [np.array([len(table.codes)])]), 'pandas' in sys.modules)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert said.stdout == "[array([60])] False\n"


def test_rows_are_sampled_without_loading_jax(tmp_path):
    stored = Path(__file__).parents[1] / "release" / "stored" / "every-type-0.1"
    program = f"""
import sys
from pathlib import Path
sys.argv = ["tabveil", "sample", {str(stored)!r}, "-n", "5", "-o", "rows.csv"]
from tabveil.__main__ import main
try:
    main()
except SystemExit as end:
    assert not end.code
print("jax" in sys.modules)
"""
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert said.stdout.splitlines()[-1] == "False" and (tmp_path / "rows.csv").exists()
