"""While the tests run, an array of another shape than announced is refused."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError

from tabveil.fitting.relaxed import Relaxed
from tabveil.queries import Marginals, real_rows
from tabveil.queries.thresholds import weighted_sum
from tabveil.tables.table import Domain, Table


def test_a_table_whose_numbers_have_other_rows_than_its_codes_is_refused() -> None:
    with pytest.raises(TypeCheckError, match="rows numerical"):
        Table(np.zeros((3, 2), np.int32), np.zeros((4, 1)))


def test_codes_that_are_no_whole_numbers_are_refused(domain: Domain) -> None:
    with pytest.raises(TypeCheckError, match="rows axes"):
        real_rows(np.zeros((3, 5)), np.zeros((3, 2), np.int32), domain)


def test_rows_that_lie_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(TypeCheckError, match="numerical rows"):
        weighted_sum(np.ones((9, 2), np.int32), jnp.zeros((30, 2)))


def test_evidence_of_another_width_than_its_weights_is_refused(domain: Domain) -> None:
    evidence = Marginals.over([(0, 1)], domain).evidence(1)
    with pytest.raises(TypeCheckError, match="picks width"):
        evidence.learn(np.array([0]), np.zeros((1, 6), np.float32), np.ones((1, 5), np.float32))


def test_a_wrong_answer_is_refused_inside_a_compiled_program(domain: Domain) -> None:
    family = Marginals.over([(0, 1)], domain)
    flat = replace(family, slots=(np.zeros((1, 1, 1), np.int32),))
    with pytest.raises(TypeCheckError, match="queries width"):
        flat.tally.of(Relaxed.random(domain, 5, jax.random.key(0)).rows())


def test_jax_may_build_a_table_of_anything(domain: Domain) -> None:
    table = Relaxed.random(domain, 5, jax.random.key(0))
    assert jax.tree.map(lambda array: array.ndim, table).positions == 2
