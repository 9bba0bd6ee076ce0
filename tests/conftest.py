"""Small public schemas and tables that many tests share."""

import pytest

from samples import SMALL
from tabveil.schema import Schema
from tabveil.table import Codec, Domain


@pytest.fixture
def schema() -> Schema:
    return Schema.from_dict(SMALL)


@pytest.fixture
def codec(schema: Schema) -> Codec:
    return Codec(schema)


@pytest.fixture
def domain(codec: Codec) -> Domain:
    return codec.domain
