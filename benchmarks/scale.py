"""How counting grows with rows: simulate a folder of Parquet files, and time every pass over it.

    python benchmarks/scale.py simulate OUT/rows --rows 100000000
    python benchmarks/scale.py measure OUT/rows
    python benchmarks/scale.py measure OUT/rows --engine dask

The simulated table has 24 columns in the shape of a census: 13 categories, 5 targets and 6 numbers.
`measure` fits the folder as `tabveil fit` does, in a process of its own, and sets the time of its
passes over the rows beside a plain pass that decodes the same files and drops the cells. NOT
PRIVATE: it prints exact row counts."""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILE, GROUP = 1_000_000, 250_000  # rows
SIZES = dict(
    worker=9, schooling=24, marital=5, sex=2, race=9, citizen=5, native=2, disability=2, military=5,
    travel=13, hispanic=2, language=3, english=5, insured=2, employed=2, moved=2, commutes=2,
    well_off=2,
)  # fmt: skip
TARGETS = list(SIZES)[-5:]
NUMBERS = dict(age=99, hours=99, weeks=52, wage=999_999, poverty=501, weight=3000)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = options.add_subparsers(dest="command", required=True)
    simulating = commands.add_parser("simulate")
    simulating.add_argument("folder", type=Path)
    simulating.add_argument("--rows", type=int, default=1_000_000)
    for name in ("measure", "fit"):
        measuring = commands.add_parser(name)
        measuring.add_argument("folder", type=Path)
        measuring.add_argument("--engine", default="local")
        measuring.add_argument(
            "--quick", action="store_true", help="hardly optimise: time the passes alone"
        )
    asked = options.parse_args()
    if asked.command == "simulate":
        simulate(asked.folder, asked.rows)
    elif asked.command == "measure":
        print(json.dumps(measure(asked.folder, asked.engine, asked.quick)))
    else:
        print(json.dumps(timed_fit(asked.folder, asked.engine, asked.quick)))


def simulate(folder: Path, rows: int) -> None:
    """Write the folder, file by file, and its schema beside it."""
    folder.mkdir(parents=True)
    (folder / "schema.json").write_text(json.dumps(schema()))
    for number, start in enumerate(range(0, rows, FILE)):
        part = people(min(FILE, rows - start), np.random.default_rng(number))
        pq.write_table(part, folder / f"part-{number:05}.parquet", row_group_size=GROUP)


def schema() -> dict:
    """What may be known of the table."""
    columns: dict[str, dict] = {
        name: {"type": "categorical", "values": [f"{name} {code}" for code in range(size)]}
        for name, size in SIZES.items()
    }
    for name, high in NUMBERS.items():
        columns[name] = {"type": "numerical", "min": 0, "max": high, "decimals": 0}
    return {"columns": columns, "targets": TARGETS}


def people(rows: int, random: np.random.Generator) -> pa.Table:
    """Columns that hang together by one hidden factor; texts and whole numbers."""
    factor = random.random(rows)
    columns: dict[str, pa.Array] = {}
    for name, size in SIZES.items():
        code = np.minimum((random.random(rows) * 0.7 + factor * 0.3) ** 2 * size, size - 1).astype(
            np.int32
        )
        labels = pa.array([f"{name} {label}" for label in range(size)])
        columns[name] = labels.take(pa.array(code))
    for name, high in NUMBERS.items():
        share = np.where(random.random(rows) < 0.3, 0.4, random.random(rows) * 0.8 + factor * 0.2)
        columns[name] = pa.array(np.floor(share**2 * high).astype(np.int64))
    return pa.table(columns)


def measure(folder: Path, engine: str, quick: bool) -> dict:
    """Plain decoding, then a fit in a process of its own, on the same files."""
    files = sorted(folder.glob("*.parquet"))
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    plain, plain_work = decode(files)
    command = [sys.executable, __file__, "fit", str(folder), "--engine", engine]
    command += ["--quick"] * quick
    fit = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    )
    return {
        "rows": rows,
        "bytes": sum(file.stat().st_size for file in files),
        "plain_seconds": round(plain, 3),
        "plain_core_seconds": round(plain_work, 3),
        **fit,
        "rows_per_second": round(rows / sum(fit["pass_seconds"])),
        "plain_rows_per_second": round(rows / plain),
        "share_of_plain": round(plain / sum(fit["pass_seconds"]), 3),
        "share_of_plain_by_core_seconds": round(plain_work / sum(fit["pass_core_seconds"]), 3),
    }


def decode(files: list[Path]) -> tuple[float, float]:
    """Seconds, and seconds of all cores together, to decode every column of every file once."""

    def pieces() -> Iterator[tuple[Path, int]]:
        return ((f, g) for f in files for g in range(pq.read_metadata(f).num_row_groups))

    def read(piece: tuple[Path, int]) -> None:
        pq.ParquetFile(piece[0]).read_row_group(piece[1], use_threads=False)

    began, worked = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor() as pool:
        for _ in pool.map(read, pieces()):
            pass
    return time.perf_counter() - began, time.process_time() - worked


def timed_fit(folder: Path, engine: str, quick: bool) -> dict:
    """Seconds of every pass over the rows and of the whole fit, and the most memory it took."""
    import tabveil as tv
    from tabveil.fitting.presets import Default, Effort
    from tabveil.fitting.projection import Annealing
    from tabveil.fitting.rows import EncodedRows

    passes: list[float] = []
    work: list[float] = []
    total = EncodedRows.total

    def timed(*args: object, **named: object) -> list[np.ndarray]:
        began, worked = time.perf_counter(), time.process_time()
        try:
            return total(*args, **named)  # type: ignore[arg-type]
        finally:
            passes.append(round(time.perf_counter() - began, 3))
            work.append(round(time.process_time() - worked, 3))

    EncodedRows.total = timed  # type: ignore[assignment, method-assign]
    began = time.perf_counter()
    few = Annealing(stages=1, steps=2)
    preset = (
        Default(rounds=1, effort=Effort(rows=50, between_rounds=few, at_the_end=few))
        if quick
        else "default"
    )
    tv.RAPpp(tv.Schema.from_dict(schema()), 1.0, preset=preset, engine=engine).fit(folder)
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "pass_seconds": passes,
        "pass_core_seconds": work,
        "fit_seconds": round(time.perf_counter() - began, 1),
        "peak_gb": round(kilobytes * 1024 / 1e9, 2),
    }


if __name__ == "__main__":
    main()
