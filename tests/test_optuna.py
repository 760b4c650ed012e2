"""Optuna's own conformance tests, unmodified, and what they do not look at."""

import pytest

optuna = pytest.importorskip("optuna")

from optuna.testing.pytest_samplers import (  # noqa: E402 - after the check that it is there
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from bough.integrations.optuna import GPTSSampler  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestConformance(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: GPTSSampler(seed=0)
