"""Every mechanism has a proof note, and every note that the code names is there."""

import re
from pathlib import Path

import pytest

from tabveil.privacy import OpenDPNoise
from tabveil.privacy import budget as conversions

ROOT = Path(__file__).parents[2]
NOTE = re.compile(r"docs/proofs/\w+\.md")


@pytest.mark.parametrize(
    "mechanism", [name for name in vars(OpenDPNoise) if callable(getattr(OpenDPNoise, name))]
)
def test_a_mechanism_names_its_proof(mechanism: str) -> None:
    assert NOTE.search(getattr(OpenDPNoise, mechanism).__doc__ or "")


@pytest.mark.parametrize("scale", ["gaussian_scale", "selection_scale"])
def test_a_scale_names_its_proof(scale: str) -> None:
    assert NOTE.search(getattr(conversions, scale).__doc__)


def test_notes_that_the_code_names_exist() -> None:
    named = {
        note for file in (ROOT / "src").rglob("*.py") for note in NOTE.findall(file.read_text())
    }
    assert named and all((ROOT / note).is_file() for note in named)


def test_the_guarantee_leads_to_every_note() -> None:
    guarantee = (ROOT / "docs/guarantee.md").read_text()
    assert all(f"proofs/{note.name}" in guarantee for note in (ROOT / "docs/proofs").glob("*.md"))
