import itertools
import json
import math
from dataclasses import dataclass
from typing import ClassVar

import mpmath
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from strategies import noise_of, some_kernel

from bough import GPTS, Belief, Study, Tree, kernels, learning
from bough.cli import main
from bough.kernels import Chi, Discounted, Gaussian, Geometric, Hyperparameter, Linear, LogNormal
from bough.problems import kind_of, named
from bough.studies.describe import NotInFile, describe, rebuild


def arms(branching, depth):
    return list(itertools.product(range(branching), repeat=depth))


def test_chi_is_as_defined():
    D = 6
    d = np.arange(D + 1)
    np.testing.assert_allclose(Linear(2.0).chi(D), 2.0 * (D + 1 - d) / (D + 1), rtol=1e-14)
    np.testing.assert_allclose(Gaussian(1.7, 3.0).chi(D), 3 * np.exp(-d / 1.7**2), rtol=1e-14)
    discounted = Discounted(0.8, 2.0)
    assert discounted.increments(D)[0] == 0.0
    np.testing.assert_allclose(discounted.increments(D)[1:], 2 * 0.8 ** (2 * np.arange(D)))
    assert discounted.chi(D)[0] == pytest.approx(2 * (1 - 0.8 ** (2 * D)) / (1 - 0.8**2))
    geometric = Geometric(0.5, 3.0, root=0.25).increments(D)
    total = sum(0.5**j for j in range(1, D + 1))
    np.testing.assert_allclose(geometric[1:], [2.25 * 0.5**i / total for i in range(1, D + 1)])
    assert geometric[0] == 0.75
    values = (1.0, 0.5, 0.5, 0.0)
    assert Chi(values).chi(3).tolist() == list(values)
    assert Chi(values).increments(3).tolist() == [0.0, 0.5, 0.0, 0.5]


@given(st.integers(0, 4), st.data())
def test_matrix_and_chi_agree(depth, data):
    """The paper: chi_d is the product of two paths with d nodes not in common."""
    kernel = data.draw(some_kernel(depth))
    paths = arms(2, depth)
    K = kernel.matrix(paths, depth)
    scale = 1e-12 * max(1.0, kernel.chi(depth)[0])
    for i, a in enumerate(paths):
        for j, b in enumerate(paths):
            apart = depth - next((n for n in range(depth) if a[n] != b[n]), depth)
            assert K[i, j] == pytest.approx(kernel.chi(depth)[apart], abs=scale)
            assert kernel(a, b, depth) == K[i, j]
    assert np.all(kernel.increments(depth) >= 0)
    assert len(kernel.increments(depth)) == depth + 1


def test_inner_nodes_share_their_prefix():
    k = Linear(4.0)
    assert k((0,), (0, 1, 2), 3) == pytest.approx(2.0)
    assert k((), (0, 1, 2), 3) == pytest.approx(1.0)
    assert k((1,), (0, 1, 2), 3) == pytest.approx(1.0)
    assert k.matrix([], 3).shape == (0, 0)


@pytest.mark.parametrize("width", [0.05, 0.3, 3.0, 1e4, 1e8])
def test_gaussian_increments_do_not_cancel(width):
    D = 10
    found = Gaussian(width).increments(D)
    for i in range(1, D + 1):
        rate = 1 / mpmath.mpf(width) ** 2
        true = mpmath.exp(-(D - i) * rate) * -mpmath.expm1(-rate)
        assert found[i] == pytest.approx(float(true), rel=1e-13)


def test_extremes():
    assert Geometric(1e9).increments(60).sum() == pytest.approx(1.0)
    assert Geometric(1e-9).increments(60)[1] == pytest.approx(1.0)
    assert Discounted(0.0).increments(3).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert Gaussian(1e-200).increments(2).tolist() == [0.0, 0.0, 1.0]
    assert Discounted(1.0).increments(2).tolist() == [0.0, 1.0, 1.0]
    for kernel in (Linear(), Gaussian(2.0), Discounted(0.5), Geometric(0.5), Chi((1.0,))):
        assert kernel.increments(0).shape == (1,)


def test_kernels_are_values():
    assert Gaussian(3.0) == Gaussian(width=3.0, variance=1.0)
    assert repr(2.0 * (Linear() + Gaussian(3.0))) == (
        "2.0 * (Linear(variance=1.0) + Gaussian(width=3.0, variance=1.0))"
    )
    both = Linear() + Gaussian(3.0) + Linear(2.0)
    assert len(both.terms) == 3
    np.testing.assert_allclose((Linear() * 3).increments(2), Linear(3.0).increments(2))
    assert {Linear(): 1}[Linear(1.0)] == 1
    with pytest.raises(AttributeError):
        Linear().variance = 2.0
    with pytest.raises(TypeError):
        Linear() + 1.0
    with pytest.raises(TypeError):
        Linear() * Linear()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Linear(-1.0), ValueError, "variance must not be negative, got -1.0"),
        (lambda: Linear(math.nan), ValueError, "variance must be finite"),
        (lambda: Gaussian(0.0), ValueError, "width must be above zero, got 0.0"),
        (lambda: Gaussian("wide"), TypeError, "width must be one real number, got 'wide'"),
        (lambda: Discounted(1.5), ValueError, "discount must be between 0 and 1"),
        (lambda: Geometric(0.0), ValueError, "ratio must be above zero"),
        (lambda: Geometric(0.5, root=2.0), ValueError, "root must be between 0 and 1"),
        (lambda: Chi(()), ValueError, "values must hold chi_0"),
        (lambda: Chi((0.5, 1.0)), ValueError, r"values\[1\] = 1.0 is above"),
        (lambda: Chi((1.0, -0.5)), ValueError, r"values\[1\] must not be negative"),
        (lambda: Chi((1.0, 0.5)).increments(3), ValueError, "needs chi_0 to chi_3, that is 4"),
        (lambda: -1.0 * Linear(), ValueError, "factor must not be negative"),
        (lambda: Linear().increments(-1), ValueError, "depth must be at least 0"),
        (lambda: Linear()((0, 0, 0), (0,), 2), ValueError, "3 steps, but depth is 2"),
        (lambda: Linear().matrix([(2**70,)], 2), ValueError, "a step must be at most"),
        (lambda: Linear().matrix(5, 2), TypeError, "paths must be a sequence, got 5"),
        (lambda: Chi(5), TypeError, "values must be a sequence, got 5"),
        (lambda: kernels.Sum((1, 2)), TypeError, "terms must be kernels, got 1"),
        (lambda: kernels.Scaled(2.0, 3), TypeError, "kernel must be a kernel"),
        (lambda: Linear()((0.5,), (0,), 2), TypeError, "a step must be an int"),
    ],
)
def test_bad_kernels(make, error, message):
    with pytest.raises(error, match=message):
        make()


# ---------------------------------------------------------------------- third-party kernels


@dataclass(frozen=True)
class Tail(kernels.Kernel):
    """A kernel whose last step has a share of the variance, and which gives no gradients."""

    share: float | None
    variance: float | None = 1.0
    hyperparameters: ClassVar = {
        "share": Hyperparameter(LogNormal(0.5, 1.0, low=0.01, high=1.0), "fraction", typical=0.4),
        "variance": kernels.VARIANCE,
    }

    def _increments(self, depth):
        share, variance = self._numbers()
        early = np.full(depth, (1 - share) / depth) if depth else np.zeros(0)
        return variance * np.append(early, share)


@pytest.fixture(scope="module")
def observed():
    """A belief with observations of a function drawn from `Tail(0.7, 4.0)`."""
    tree, rng = Tree(4, 4), np.random.default_rng(0)
    paths = arms(4, 4)
    values = Belief(tree, Tail(0.7, 4.0), 1.0).sample(paths, 1, rng)[0]
    belief = Belief(tree, Linear(), 1.0)
    for path, value in zip(paths, values, strict=True):
        belief.observe(path, value + 0.1 * rng.standard_normal())
        belief.observe(path, value + 0.1 * rng.standard_normal())
    return belief


def test_a_third_party_kernel_is_a_value():
    assert Tail(0.5) == Tail(share=0.5, variance=1.0) != Tail(0.4)
    assert repr(Tail(None)) == "Tail(share=None, variance=1.0)"
    assert (2.0 * Tail(0.5) + Linear()).increments(2).tolist() == pytest.approx(
        [0.5 + 1 / 3, 0.5 + 1 / 3, 1 + 1 / 3]
    )
    assert kernels.registered()["Tail"] is kernels.named()["tail"] is Tail
    for wrong, message in (((1.5,), "share must be between 0 and 1"), ((0.5, -1), "variance")):
        with pytest.raises(ValueError, match=message):
            Tail(*wrong)
    with pytest.raises(ValueError, match="share is None, so it is to be fitted"):
        Tail(None).increments(2)


def test_a_third_party_kernel_is_fitted(observed):
    belief, report = learning.fit(observed, Tail)
    assert report.converged
    assert list(report.parameters) == ["share", "variance", "noise", "mean"]
    for name, truth in (("share", 0.7), ("variance", 4.0), ("noise", 0.1)):
        assert report.parameters[name].value == pytest.approx(truth, rel=0.3)
    assert belief.kernel == report.kernel == Tail(report.kernel.share, report.kernel.variance)
    _, partial = learning.fit(observed, Tail(None, variance=4.0) + Linear(None))
    assert list(partial.parameters)[:2] == ["terms[0].share", "terms[1].variance"]
    strong = learning.Prior(hyperparameters={"share": LogNormal(0.1, 0.01, low=0.01, high=0.2)})
    assert learning.fit(observed, Tail, prior=strong).report.kernel.share <= 0.2
    assert isinstance(learning.choose(observed, [Linear, Discounted, Tail]).belief.kernel, Tail)
    assert Tail in [type(report.kernel) for report in learning.choose(observed).reports]


@pytest.mark.parametrize("kernel", [Tail(None), Tail(0.4, 2.0)], ids=repr)
def test_a_third_party_kernel_in_a_study(tmp_path, kernel):
    file = tmp_path / "run.db"
    with Study.create(file, Tree(3, 3), kernel=kernel, rng=0) as study:
        for _ in range(20):
            trial = study.ask()
            study.tell(trial, noise_of(1, trial.path))
        fitted = study.searcher.belief.kernel
    with Study.open(file) as again:
        assert again.searcher.belief.kernel == fitted
        assert again.searcher.observations == 20


def test_a_study_of_a_kernel_that_is_not_defined():
    description = describe(Tail(0.5))
    assert description == {"class": "Tail", "share": 0.5, "variance": 1.0}
    assert rebuild(description, "kernel") == Tail(0.5)
    with pytest.raises(NotInFile, match="kernel is a Head, which is not defined: import"):
        rebuild(description | {"class": "Head"}, "kernel")


def test_a_third_party_kernel_by_name():
    assert kernels.parse("tail:0.3") == Tail(0.3, None)
    assert kernels.parse("tail:0.3", fitted=False) == Tail(0.3)
    assert kind_of("drawn:tail:0.3") == "drawn:tail"
    assert named("drawn:tail:0.3:depth=2").kernel == Tail(0.3)
    assert named("drawn:tail").kernel == Tail(0.4)


MINE = """
from dataclasses import dataclass
import numpy as np
from bough import kernels

@dataclass(frozen=True)
class Even(kernels.Kernel):
    variance: float | None = 1.0
    hyperparameters = {"variance": kernels.VARIANCE}

    def _increments(self, depth):
        return np.full(depth + 1, self._numbers()[0])

def total(path):
    return sum(path)
"""


def test_a_third_party_kernel_on_the_command_line(tmp_path):
    """The file of the objective defines it."""
    (tmp_path / "mine.py").write_text(MINE)
    options = "--branching 3 --depth 3 --budget 20 --seed 0 --json --kernel even"
    outcome = CliRunner().invoke(main, ["search", f"{tmp_path}/mine.py:total", *options.split()])
    assert outcome.exit_code == 0, outcome.output
    assert json.loads(outcome.stdout)["fitted"]["kernel"] == "Even"


def test_kernels_as_text():
    assert kernels.parse("linear") == Linear(None)
    assert kernels.parse("geometric:0.5:2:0.1") == Geometric(0.5, 2.0, 0.1)
    assert kernels.parse("geometric:0.5") == Geometric(0.5, None)
    for text, message in (
        ("gauss", "kernel must be one of .*gaussian, geometric, linear"),
        ("gaussian:x", "kernel gaussian:x: could not convert"),
        ("gaussian:1:2:3", "3 numbers, but there are only width, variance"),
        ("gaussian:-1", "width must be above zero"),
        ("gaussian", "numbers are missing, such as gaussian:0.7"),
    ):
        with pytest.raises(ValueError, match=message):
            kernels.parse(text, fitted=False)


def test_names_of_kernels_are_unique():
    with pytest.raises(TypeError, match="bough.kernels has a kernel Gaussian: choose another"):
        type("Gaussian", (kernels.Kernel,), {})
    with pytest.raises(TypeError, match="Sum declares no hyperparameters"):
        learning.model.template_of(kernels.Sum)


@pytest.mark.parametrize(
    "kernel", [Linear(2.0), Gaussian(1.3, 2.0), Discounted(0.7), Discounted(1.0, 3.0),
               Geometric(0.6, 2.0, 0.3), Geometric(1.7)], ids=repr,
)  # fmt: skip
def test_gradients_by_finite_differences(kernel):
    exact, found = kernel.gradients(5), kernels.Kernel.gradients(kernel, 5)
    assert found.keys() == exact.keys() == kernel.hyperparameters.keys()
    for name in exact:
        np.testing.assert_allclose(found[name], exact[name], rtol=1e-9, atol=1e-10)


def test_gpts_fits_a_third_party_kernel():
    search = GPTS(Tree(3, 4), Tail(None), rng=0)
    for _ in range(40):
        path = search.ask()
        search.tell(path, noise_of(1, path[:1]) + 0.01 * noise_of(2, path))
    assert search.belief.kernel.share < 0.3
