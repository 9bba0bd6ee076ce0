"""The audit notices every way of breaking the promise that we could think of, and no other build."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tabveil.curator
from tabveil.audit.discovery import LoneValue
from tabveil.audit.finding import Job
from tabveil.audit.fits import WhiteBox
from tabveil.audit.mechanisms import GaussianLaw, GaussianMechanism, SelectionLaw, SelectionMechanism
from tabveil.audit.worlds import WORLDS
from tabveil.curator import Curator
from tabveil.discovery import threshold
from tabveil.privacy import OpenDPNoise, Relation, gaussian_scale, selection_scale
from tabveil.schema import Schema
from tabveil.synthesizer import RAPpp

CATEGORY, EXTREME, MISSING, _ = WORLDS
Patch = pytest.MonkeyPatch
gaussian, top, measure, fit = OpenDPNoise.gaussian, OpenDPNoise.top, Curator.measure, RAPpp.fit


def too_little_noise(patch: Patch) -> None:
    patch.setattr(OpenDPNoise, "gaussian", lambda self, c, scale: gaussian(self, c, scale / math.sqrt(2)))


def too_little_choice(patch: Patch) -> None:
    patch.setattr(OpenDPNoise, "top", lambda self, s, picks, scale: top(self, s, picks, scale / math.sqrt(2)))


def history_noised_again(patch: Patch) -> None:
    asked: list[tuple] = []

    def again(self: Curator, *request: Any) -> Any:
        unpaid = self._allowance.charge
        self._allowance.charge = lambda *_, **__: None  # type: ignore[method-assign, assignment]
        for earlier in asked:
            if earlier[0] is self:
                measure(self, *earlier[1:])
        self._allowance.charge = unpaid  # type: ignore[method-assign]
        asked.append((self, *request))
        return measure(self, *request)

    patch.setattr(Curator, "measure", again)


def l2_for_an_l1_score(patch: Patch) -> None:
    patch.setattr(
        tabveil.curator,
        "selection_scale",
        lambda rho, picks, moved: selection_scale(rho, picks, 1) * math.sqrt(moved),
    )


def sensitivity_not_squared(patch: Patch) -> None:
    patch.setattr(
        tabveil.curator,
        "gaussian_scale",
        lambda rho, squared: gaussian_scale(rho, 1) * squared**0.25,
    )


def schema_from(change: Callable[[dict, pd.DataFrame], None]) -> Callable[[Patch], None]:
    def broken(patch: Patch) -> None:
        def peeking(self: RAPpp, data: pd.DataFrame, **more: Any) -> RAPpp:
            document = self.schema.to_dict()
            change(document["columns"], data)
            self.schema = Schema.from_dict(document)
            return fit(self, data, **more)

        patch.setattr(RAPpp, "fit", peeking)

    return broken


def bounds(columns: dict, data: pd.DataFrame) -> None:
    columns["amount"]["max"] = float(min(1e6, data["amount"].max() + 1))


def categories(columns: dict, data: pd.DataFrame) -> None:
    columns["group"]["values"] = sorted({*data["group"], "some"})


def nullability(columns: dict, data: pd.DataFrame) -> None:
    columns["amount"]["nullable"] = bool(data["amount"].isna().any())


def free_row_count(patch: Patch) -> None:
    patch.setattr(Curator, "total", lambda self, rho: max(1, self._rows.count()))


def seeded_noise(patch: Patch) -> None:
    def drawn(self: OpenDPNoise, counts: np.ndarray, scale: float) -> np.ndarray:
        return counts + np.rint(np.random.default_rng(0).normal(0, scale, counts.shape)).astype(np.int64)

    patch.setattr(OpenDPNoise, "gaussian", drawn)


def noise_seeded_for_each_fit(patch: Patch) -> None:
    class Seeded(OpenDPNoise):
        def __init__(self) -> None:
            self.random = np.random.default_rng(0)

        def gaussian(self, counts: np.ndarray, scale: float) -> np.ndarray:
            return counts + np.rint(self.random.normal(0, scale, counts.shape)).astype(np.int64)

    patch.setattr("tabveil.audit.mechanisms.OpenDPNoise", Seeded)


def float_noise(patch: Patch) -> None:
    random = np.random.default_rng(0)
    patch.setattr(OpenDPNoise, "gaussian", lambda self, c, scale: c + random.normal(0, scale, c.shape))


def rounded_float_noise(patch: Patch) -> None:
    random = np.random.default_rng(0)
    patch.setattr(
        OpenDPNoise,
        "gaussian",
        lambda self, c, scale: c + np.rint(random.normal(0, scale, c.shape)).astype(np.int64),
    )


def lone_values_named(patch: Patch) -> None:
    patch.setattr("tabveil.discovery.threshold", lambda scale, delta, each=1: each + 1)


def delta_taken_twice(patch: Patch) -> None:
    patch.setattr(
        "tabveil.discovery.threshold", lambda scale, delta, each=1: threshold(scale, 2 * delta, each) - 1
    )


def white(world: Any, relation: Relation, epsilon: float = 1.0, runs: int = 40) -> Job:
    return WhiteBox("default", world, relation, epsilon, runs)


ADD, SWAP = Relation
# Each build, and a job small enough for a test that must notice it. Where noise decides, the chance of a
# miss is below 1e-9: 10,000 draws show a μ of 1.22 to ±0.02, and an alarm needs 0.90 plus five times that.
BROKEN: dict[str, tuple[Callable[[Patch], None], Job]] = {
    "noise too small by √2": (too_little_noise, GaussianMechanism(4.0, 2, 20_000)),
    "noise too small by √2, by its law": (too_little_noise, GaussianLaw(3.0, 20_000)),
    "choice too sure by √2, by its law": (too_little_choice, SelectionLaw(1, 4000)),
    "history noised again without charge": (history_noised_again, white(CATEGORY, ADD, runs=1)),
    "L2 sensitivity for an L1 score": (l2_for_an_l1_score, white(CATEGORY, SWAP, runs=1)),
    "L2 sensitivity not squared": (sensitivity_not_squared, white(MISSING, SWAP, runs=1)),
    "bounds from the data": (schema_from(bounds), white(EXTREME, ADD)),
    "categories from the data": (schema_from(categories), white(CATEGORY, ADD)),
    "nullability from the data": (schema_from(nullability), white(MISSING, SWAP)),
    "the exact row count": (free_row_count, white(MISSING, ADD)),
    "seeded noise": (seeded_noise, GaussianLaw(3.0, 20_000)),
    "noise seeded for each fit": (noise_seeded_for_each_fit, GaussianLaw(3.0, 20_000)),
    "float noise": (float_noise, GaussianLaw(3.0, 20_000)),
    "lone values named": (lone_values_named, LoneValue(ADD, 1e-6, 60)),
    "δ taken twice": (delta_taken_twice, LoneValue(ADD, 0.1, 1)),
    "float noise, rounded": (rounded_float_noise, GaussianLaw(0.5, 20_000)),
}
PASSING: dict[str, Job] = {
    "law of the noise": GaussianLaw(0.5, 20_000),
    "law of the choice": SelectionLaw(1, 4000),
    "noise": GaussianMechanism(4.0, 2, 20_000),
    "choice": SelectionMechanism(4.0, 2000),
    **{f"a lone value, {relation}": LoneValue(relation, 0.1, 200) for relation in Relation},
    **{
        f"{world.name}, {relation}": white(world, relation, runs=4)
        for relation in Relation
        for world in WORLDS
    },
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_build_is_caught(name: str, monkeypatch: Patch) -> None:
    breaks, job = BROKEN[name]
    breaks(monkeypatch)
    assert not job().holds


@pytest.mark.parametrize("name", PASSING)
def test_this_build_passes(name: str) -> None:
    assert PASSING[name]().holds
