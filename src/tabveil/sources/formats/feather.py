"""Feather, that is Arrow's own file format."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from tabveil.sources.reader import OnProgress, Reader, explained


class ArrowFile(Reader):
    """An Arrow file, read batch by batch as it was written."""

    def __init__(self, path: Path) -> None:
        self.path, self.what = path, f"the Arrow file {path.name}"
        with (
            explained(f"{path} is not a readable Arrow file.", "Write the file again."),
            pa.OSFile(str(path)) as file,
        ):
            self.names = list(pa.ipc.open_file(file).schema.names)

    def batches(
        self, columns: Sequence[str], rows: int, on_progress: OnProgress
    ) -> Iterator[pa.Table]:
        wanted = pa.ipc.IpcReadOptions(included_fields=[self.names.index(name) for name in columns])
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file, options=wanted) as reader:
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number).select(list(columns))
                # Arrow believes what a file says of itself, and would read past its end.
                batch.validate(full=True)
                yield pa.Table.from_batches([batch])
                on_progress(round((number + 1) / reader.num_record_batches, 2))

    def files_here(self) -> list[Path]:
        return [self.path]

    def count(self, column: str) -> int:
        return sum(table.num_rows for table in self.batches([column], 0, lambda share: None))
