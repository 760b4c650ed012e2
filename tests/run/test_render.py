"""Results and certificates as text and as values for JSON."""

import json
import math

import pytest

from bough import Choice, Float, Space, Tree, maximize
from bough.belief.best_arm import Arm
from bough.run.render import (
    arm_facts,
    certificate_facts,
    certificate_text,
    expected_text,
    result_facts,
    stop_text,
    value_text,
)
from bough.searchers import Certificate
from bough.spaces import SpaceCertificate

BOUNDS = {"lower": 0.5, "upper": 1.25, "gap": 0.75, "delta": 0.05}


def test_certificates():
    plain = Certificate((0, 1), **BOUNDS)
    text = "the best of all is between 0.5 and 1.25 (gap 0.75), at confidence 0.95"
    assert certificate_text(plain) == text
    fitted = Certificate((0, 1), **BOUNDS, conditional=True)
    assert certificate_text(fitted) == f"{text}, given the fitted hyperparameters"
    of_space = SpaceCertificate((0, 1), **BOUNDS, params={"x": 0.5})
    assert certificate_text(of_space).endswith(" (by partition 1 of 1, to its resolution)")
    assert certificate_facts(of_space)["params"] == {"x": 0.5}
    unknown = Certificate((0,), 0.5, math.inf, math.inf, 0.05)
    assert certificate_text(unknown).startswith("none: there are too few observations, the number")
    early = Certificate((0,), -math.inf, math.inf, math.inf, 0.05)
    assert certificate_text(early).startswith("none: there are too few observations")
    facts = certificate_facts(unknown)
    assert (facts["lower"], facts["upper"], facts["gap"]) == (0.5, None, None)
    assert facts["confidence"] == pytest.approx(0.95)


def test_arms_and_stops():
    arm = Arm((0, 1), None, 0.8356, math.inf, 0.0, 1.0, 0.9, 3)
    facts = {"path": [0, 1], "mean": 0.8356, "std": None, "value": 0.9, "visits": 3}
    assert arm_facts(arm) == facts
    once = Arm((0, 1), None, 0.8356, 0.0032, 0.0, 1.0, 0.9, 1)
    assert value_text(once) == "0.9, measured once"
    often = Arm((0, 1), None, 0.8356, 0.0032, 0.0, 1.0, 0.84, 1500)
    assert value_text(often) == "0.84, the average of 1,500 measurements"
    assert expected_text(0.8461, 0.0041, 0.0093) == (
        "the best path of all is worth 0.8461 +- 0.0041, expected loss of this one 0.0093"
    )
    assert stop_text("gap") == "stopped by gap"
    assert stop_text("exhausted") == "stopped since nothing is left to learn"


def test_results():
    result = maximize(sum, Tree(3, 2), budget=5, rng=0)
    lines = repr(result).splitlines()
    assert lines[0] == "stopped by budget after 5 evaluations"
    labels = ["best path", "its value", "its mean", "observed", "expected", "certificate"]
    assert [line[:12].rstrip() for line in lines[1:]] == labels
    assert json.loads(json.dumps(result_facts(result)))["best"]["path"] == list(result.best.path)
    space = Space(x=Float(0, 1), kind=Choice([len, sum]))
    result = maximize(lambda params: params["x"], space, budget=5, rng=0)
    assert "best params {'x': " in repr(result)
    facts = json.loads(json.dumps(result_facts(result)))
    assert facts["best"]["params"]["kind"] in ("<built-in function len>", "<built-in function sum>")
