"""A table of people with mistakes in it, and a studio that runs as its users run it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest

SOURCE = Path(__file__).parents[2] / "src"
CANARY = "CANARY-7319"
ROWS = 4217  # a number that nothing else on a page is likely to be


def write_people(path: Path, rows: int = ROWS) -> Path:
    """People with mistakes: blank cells, a city that nobody declared, a wage that is no number."""
    random = np.random.default_rng(0)
    age = random.integers(16, 99, rows)
    wage = np.round(np.exp(random.normal(10, 1, rows))).astype(int).astype(object)
    wage[::97] = "unknown"
    sex = random.choice(["F", "M"], rows).astype(object)
    sex[::53] = ""
    city = random.choice(["Bern", "Oslo", "Rome"], rows).astype(object)
    city[::401] = CANARY
    frame = {"person_id": np.arange(rows), "age": age, "sex": sex, "city": city, "wage": wage}
    pd.DataFrame(frame).to_csv(path, index=False)
    return path


@dataclass
class Running:
    """A studio in a process of its own."""

    process: subprocess.Popen
    folder: Path
    said: Path
    port: int = 0
    cookie: str = ""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        """The newest link that the terminal shows."""
        return re.findall(r"http://\S+", self.said.read_text())[-1]

    def wait_for_link(self) -> None:
        deadline = time.monotonic() + 60
        while "Ctrl-C" not in self.said.read_text():
            assert self.process.poll() is None, self.said.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        self.port = int(re.search(r"127.0.0.1:(\d+)", self.said.read_text())[1])

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[HTTPResponse, str]:
        """One request without a browser; underscores in names of headers become hyphens."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer, text

    def enter(self) -> None:
        """Use up the newest link, and keep the cookie."""
        answer, _ = self.ask("GET", self.link.removeprefix(self.address))
        assert answer.status == 200
        self.cookie = answer.headers["set-cookie"].split(";")[0]

    def get(self, path: str) -> tuple[HTTPResponse, str]:
        """A page, for the browser that was let in."""
        return self.ask("GET", path, Cookie=self.cookie)

    def post(self, path: str, /, **fields: str) -> tuple[HTTPResponse, str]:
        """A form, sent by the browser that was let in."""
        body = urlencode(fields).encode()
        return self.ask("POST", path, body, Cookie=self.cookie, Origin=self.address)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)


Start = Callable[..., Running]


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts studios, each in a folder of its own unless one is named; ends them all."""
    running: list[Running] = []

    def begin(*words: object, folder: Path | None = None) -> Running:
        folder = folder or tmp_path_factory.mktemp("studio")
        said = folder / f"said-{len(running)}.txt"
        with said.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "tabveil", "studio", *map(str, words), "--no-browser"],
                cwd=folder,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "300"},
                start_new_session=True,
            )
        studio = Running(process, folder, said)
        running.append(studio)
        studio.wait_for_link()
        return studio

    yield begin
    for studio in running:
        studio.end()


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_people(tmp_path_factory.mktemp("data") / "people.csv")
