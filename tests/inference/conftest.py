"""A release and its model, made once."""

import pytest

import tabveil as tv
from inference_people import fitted
from tabveil.release import Release


@pytest.fixture(scope="session")
def model() -> tv.RAPpp:
    return fitted(0)


@pytest.fixture(scope="session")
def release(model: tv.RAPpp) -> Release:
    return model.release_
