"""Figures of a plan: its belief has units of its own, and figures those of the rewards."""

import json
import random

import numpy as np
import pytest
from worlds import Corridor

from bough import planning, plotting
from bough.plotting.view import SearchView
from bough.report import snapshot, trial_columns


class Windy(Corridor):
    deterministic = False
    numbers = random.Random(0)

    def step(self, action):
        if self.numbers.random() < 0.3:
            action = "stay"
        return super().step(action)


@pytest.fixture(params=[Corridor, Windy], ids=["exact", "random"], scope="module")
def plan(request):
    return planning.plan(request.param(), budget=150, depth=5, rng=0)


def test_figures_have_the_units_of_the_rewards(plan):
    data = plotting.tree_data(plan)
    plays = [play.path for play in plan.policy.playouts]
    assert data.visits[0] == len(plays)
    for n in range(len(data.parent)):
        path = data.path(n)
        assert data.visits[n] == sum(play[: len(path)] == path for play in plays)
    belief, unit = plan.searcher.belief, plan.policy.unit
    mean, std = belief.posterior([data.path(n) for n in range(len(data.parent))])
    np.testing.assert_allclose(data.mean, plan.policy.offset + unit * mean, rtol=1e-9)
    np.testing.assert_allclose(data.std, unit * std, rtol=1e-9, atol=1e-12)
    along = plotting.along_data(plan)
    assert along.path == plan.path
    mean, _ = belief.posterior([plan.path])
    assert along.mean[-1] == pytest.approx(plan.policy.offset + unit * mean[0], rel=1e-9)
    increments = plotting.increments_data(plan)
    np.testing.assert_allclose(increments.variance, unit**2 * belief.kernel.increments(5))
    assert increments.noise == pytest.approx(unit * belief.noise)
    assert increments.mean == pytest.approx(plan.policy.offset)


def test_the_bounds_end_with_the_certificate(plan):
    data = plotting.convergence_data(plan)
    assert len(data.values) == data.at[-1] == len(plan.policy.playouts)
    assert data.lower[-1] == pytest.approx(plan.certificate.lower, rel=1e-9)
    assert data.upper[-1] == pytest.approx(plan.certificate.upper, rel=1e-9)
    assert max(data.values) == pytest.approx(max(map(plan.policy.total, plan.policy.playouts)))


def test_the_page_names_the_actions(plan):
    facts = snapshot(plan)
    json.dumps(facts, allow_nan=False)
    assert facts["title"] == "A plan"
    assert facts["summary"]["best"]["decoded"] == " ".join(plan.actions)
    assert facts["summary"]["best"]["mean"] == plan.value
    assert set(facts["tree"]["names"]) <= {"", "left", "right", "stay"}
    assert trial_columns(plan)["choices"]["step 1"]["categories"] == ["left", "right", "stay"]
    assert len(plotting.regret_data(plan, 200.0).bound) == 0


def test_actions_that_are_numbers_are_steps():
    class Numbered(Corridor):
        actions = (0, 1, 2)

        def step(self, action):
            return super().step(("left", "right", "stay")[action])

    plan = planning.plan(Numbered(), budget=60, depth=4, rng=0)
    facts = snapshot(plan)
    assert facts["tree"]["names"] is None
    assert facts["summary"]["best"]["decoded"] is None
    assert trial_columns(plan)["choices"] is None


def test_a_plan_of_another_searcher():
    plan = planning.plan(Corridor(), budget=150, depth=5, rng=0, searcher="uct")
    facts = snapshot(plan)
    json.dumps(facts, allow_nan=False)
    assert facts["model"] is None
    assert facts["summary"]["best"]["mean"] == plan.value
    assert SearchView.of(plan).shown.unit == 1.0


def test_every_figure_of_a_plan(plan):
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(6, 20))
    kinds = [kind for kind in plotting.DRAWINGS if kind != "regret"]
    for kind, ax in zip(kinds, figure.subplots(len(kinds)), strict=True):
        assert plotting.DRAWINGS[kind](plan, ax=ax) is ax
    figure.canvas.draw()


def test_a_plan_on_the_graph_is_no_tree():
    plan = planning.plan(Corridor(), budget=30, rng=0)
    for draw in (plotting.tree_data, plotting.along_data, plotting.convergence_data):
        with pytest.raises(ValueError, match="on the graph of states, .* merge_states=False"):
            draw(plan)
