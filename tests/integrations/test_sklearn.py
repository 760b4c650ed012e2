"""BoughSearchCV: scikit-learn's own estimator checks, unmodified, and more."""

import pickle
import warnings
from contextlib import suppress

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

import joblib  # noqa: E402 - after the check that scikit-learn is installed
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_regressor  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_iris  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.dummy import DummyClassifier  # noqa: E402
from sklearn.ensemble import BaggingClassifier  # noqa: E402
from sklearn.exceptions import FitFailedWarning, NotFittedError  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.pipeline import Pipeline  # noqa: E402
from sklearn.preprocessing import MinMaxScaler, StandardScaler  # noqa: E402
from sklearn.svm import SVC  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from bough import Choice, Float, Forest, Int, Patience, Space, WallTime  # noqa: E402
from bough.integrations.sklearn import BoughSearchCV  # noqa: E402
from bough.plotting import importance_data  # noqa: E402

IRIS = load_iris(return_X_y=True)


class Hill(ClassifierMixin, BaseEstimator):
    """A classifier whose score is a function of its parameter, and whose fits may fail."""

    def __init__(self, x=0.0, fails_above=2.0, only_fold=None):
        self.x = x
        self.fails_above = fails_above
        self.only_fold = only_fold

    def fit(self, X, y):
        if self.x > self.fails_above and self.only_fold in (None, X[0, 0]):
            raise RuntimeError(f"cannot fit x={self.x}")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y):
        return 1.0 - (self.x - 0.3) ** 2


X = np.arange(8.0)[:, None]
Y = np.tile([0, 1], 4)
LINE = Space(x=Float(0, 1))


def hill(**options):
    estimator = Hill(**{k: options.pop(k) for k in ("fails_above", "only_fold") if k in options})
    given = {"space": LINE, "n_iter": 8, "cv": 2, "random_state": 0, **options}
    return BoughSearchCV(estimator, **given)


def models():
    """Return a pipeline, and a space of its steps."""
    space = Space(
        scale=Choice([StandardScaler(), MinMaxScaler(), "passthrough"]),
        reduce=Choice({"passthrough": None, PCA(): Space(reduce__n_components=Int(1, 3))}),
        model=Choice(
            {
                SVC(): Space(
                    model__C=Float(1e-2, 1e2, log=True),
                    model__kernel=Choice(
                        {"linear": None, "rbf": Space(model__gamma=Float(1e-3, 1, log=True))}
                    ),
                ),
                DecisionTreeClassifier(random_state=0): Space(model__max_depth=Int(1, 5)),
                GaussianNB(): None,
            }
        ),
    )
    steps = [("scale", StandardScaler()), ("reduce", "passthrough"), ("model", SVC())]
    return Pipeline(steps), space


# ---------------------------------------------------------------------- scikit-learn's checks

C = Choice([0.1, 1.0])
CHECKED = [
    BoughSearchCV(Ridge(), {"alpha": C}, n_iter=2, cv=2, error_score="raise", random_state=0),
    BoughSearchCV(
        Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())]),
        Space(
            scale=Choice([StandardScaler(), MinMaxScaler()]),
            # (The checks expect the methods of the given estimator, such as predict_proba.)
            model=Choice(
                {
                    LogisticRegression(): Space(model__C=C),
                    LogisticRegression(solver="newton-cholesky"): Space(model__C=C),
                }
            ),
        ),
        n_iter=2, cv=2, error_score="raise", random_state=0,
    ),
]  # fmt: skip


def expected_failures(search):
    """Return what scikit-learn expects of its own searches, with the same estimators."""
    return {"check_supervised_y_2d": "no DataConversionWarning"} if is_regressor(search) else {}


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_checks_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():  # scikit-learn does not turn warnings into errors
        warnings.simplefilter("ignore")
        check(estimator)


# ---------------------------------------------------------------------- scores and candidates


def test_scores_are_those_of_cross_validation():
    pipeline, space = models()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = BoughSearchCV(pipeline, space, n_iter=12, cv=folds, random_state=0).fit(*IRIS)
    results = search.cv_results_
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        estimator = clone(pipeline).set_params(**clone(params, safe=False))
        assert score == cross_val_score(estimator, *IRIS, cv=folds).mean()
    assert search.best_score_ == results["mean_test_score"].max()
    assert search.best_params_ == results["params"][search.best_index_]
    refit = clone(pipeline).set_params(**clone(search.best_params_, safe=False)).fit(*IRIS)
    assert (search.predict(IRIS[0]) == refit.predict(IRIS[0])).all()
    assert search.result_.history.params == results["params"]
    assert (search.result_.history.values == results["mean_test_score"]).all()


@pytest.mark.parametrize("seed", range(3))
def test_only_parameters_of_the_chosen_options_are_set(seed):
    pipeline, space = models()
    search = BoughSearchCV(pipeline, space, n_iter=15, cv=2, random_state=seed).fit(*IRIS)
    results, searched = search.cv_results_, search.result_.searcher.space
    for params in results["params"]:
        searched.point(params)  # raises if one is missing, or does not belong to the options
    kinds = np.array([type(model) for model in results["param_model"]])
    assert len(set(kinds)) == 3
    assert (results["param_model__C"].mask == (kinds != SVC)).all()
    assert (results["param_model__max_depth"].mask == (kinds != DecisionTreeClassifier)).all()
    assert type(search.best_estimator_["model"]) is type(search.best_params_["model"])


def test_estimators_of_the_space_are_cloned_and_unchanged():
    pipeline, space = models()
    before = pickle.dumps((pipeline, space))
    search = BoughSearchCV(pipeline, space, n_iter=10, cv=2, random_state=0).fit(*IRIS)
    assert pickle.dumps((pipeline, space)) == before
    fitted = search.best_estimator_["model"]
    assert fitted is not search.best_params_["model"]
    for params in search.cv_results_["params"]:
        assert not hasattr(params["model"], "n_features_in_")


def test_a_choice_deep_inside_an_estimator():
    space = Space(
        estimator=Choice(
            {
                DecisionTreeClassifier(random_state=0): Space(estimator__max_depth=Int(1, 3)),
                GaussianNB(): Space(estimator__var_smoothing=Float(1e-9, 1, log=True)),
            }
        )
    )
    bagging = BaggingClassifier(n_estimators=2, random_state=0)
    search = BoughSearchCV(bagging, space, n_iter=6, cv=2, random_state=0).fit(*IRIS)
    assert {len(params) for params in search.cv_results_["params"]} == {2}


def test_a_dict_is_a_space():
    of_dict, of_space = hill(space={"x": Float(0, 1)}).fit(X, Y), hill().fit(X, Y)
    assert of_dict.cv_results_["params"] == of_space.cv_results_["params"]


def test_the_search_finds_the_optimum():
    search = hill(n_iter=30, noise=0.0).fit(X, Y)
    assert abs(search.best_params_["x"] - 0.3) < 1e-3
    assert search.best_estimator_.x == search.best_params_["x"]
    assert search.score(X, Y) == search.best_score_
    assert importance_data(search.result_).names == ["x"]


def params_of(**options):
    return hill(**options).fit(X, Y).cv_results_["params"]


def test_random_state():
    assert params_of(random_state=1) == params_of(random_state=1) != params_of(random_state=2)
    rng = np.random.RandomState(0)
    first, second = params_of(random_state=rng), params_of(random_state=rng)
    rng = np.random.RandomState(0)
    assert first == params_of(random_state=rng) != second == params_of(random_state=rng)
    state = np.random.get_state()  # noqa: NPY002 - None is NumPy's global state
    try:
        np.random.seed(0)  # noqa: NPY002
        assert params_of(random_state=None) == first
    finally:
        np.random.set_state(state)  # noqa: NPY002


def test_a_longer_search_begins_like_a_shorter_one():
    assert params_of(n_iter=12)[:8] == params_of(n_iter=8)


def test_candidates_of_a_batch_are_pending_together(monkeypatch):
    pending = []
    tell = Forest.tell
    monkeypatch.setattr(
        Forest,
        "tell",
        lambda self, *a, **k: (pending.append(len(self.pending)), tell(self, *a, **k)),
    )
    search = hill(batch_size=3, n_iter=7).fit(X, Y)
    assert pending == [3, 2, 1, 3, 2, 1, 1]
    assert len(search.cv_results_["params"]) == 7
    assert search.result_.searcher.pending == ()


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.thorough)])
def test_jobs_evaluate_a_batch(backend):
    pipeline, space = models()
    options = {"n_iter": 5, "cv": 2, "random_state": 0}
    with joblib.parallel_config(backend):
        parallel = BoughSearchCV(pipeline, space, n_jobs=2, **options).fit(*IRIS)
    serial = BoughSearchCV(pipeline, space, batch_size=2, **options).fit(*IRIS)
    same = "mean_test_score"
    assert (parallel.cv_results_[same] == serial.cv_results_[same]).all()


def test_all_candidates_have_the_same_folds():
    dummy = DummyClassifier(strategy="most_frequent")
    space = Space(constant=Int(0, 99))  # which this strategy ignores
    for cv in (ShuffleSplit(3), KFold(3, shuffle=True)):
        results = BoughSearchCV(dummy, space, n_iter=6, cv=cv).fit(*IRIS).cv_results_
        for fold in range(3):
            assert len(set(results[f"split{fold}_test_score"])) == 1
    folds = list(ShuffleSplit(2, random_state=0).split(*IRIS))
    results = BoughSearchCV(dummy, space, n_iter=6, cv=iter(folds)).fit(*IRIS).cv_results_
    assert len(results["params"]) == 6


def test_noise():
    points = [params["x"] for params in params_of(n_iter=25)]
    assert len(set(points)) == 24  # one was evaluated again, to see whether there is noise
    assert len({params["x"] for params in params_of(n_iter=25, noise=0.0)}) == 25


def test_a_finite_space_is_exhausted():
    search = hill(space=Space(x=Choice([0.0, 0.5, 1.0])), n_iter=50).fit(X, Y)
    assert search.result_.stopped_by == "exhausted"
    assert {params["x"] for params in search.cv_results_["params"]} == {0.0, 0.5, 1.0}


def test_stop_rules():
    rule = WallTime(1e-9)
    search = hill(stop=rule, batch_size=2).fit(X, Y)
    assert search.result_.stopped_by == "seconds"
    assert len(search.cv_results_["params"]) == 2
    assert pickle.dumps(rule) == pickle.dumps(WallTime(1e-9))
    search = hill(stop=[Patience(5)], n_iter=500).fit(X, Y)
    assert search.result_.stopped_by == "patience"


# ---------------------------------------------------------------------- metrics


def test_refit_names_the_metric_that_guides_the_search():
    def values(scoring, refit):
        space = Space(var_smoothing=Float(1e-9, 1e1, log=True))
        search = BoughSearchCV(
            GaussianNB(), space, n_iter=5, cv=3, random_state=0,
            scoring=scoring, refit=refit, return_train_score=True,
        ).fit(*IRIS)  # fmt: skip
        assert {f"mean_train_{name}" for name in scoring} <= search.cv_results_.keys()
        means = {name: search.cv_results_[f"mean_test_{name}"].tolist() for name in scoring}
        return search, search.result_.history.values.tolist(), means

    both = ["accuracy", "neg_log_loss"]
    for refit in both:
        search, guided, means = values(both, refit)
        assert guided == means[refit]
        assert search.best_index_ == np.argmax(means[refit])
    search, guided, means = values(both, False)
    assert guided == means["accuracy"]
    assert not hasattr(search, "best_estimator_")
    search, guided, means = values(both, lambda results: 2)
    assert guided == means["accuracy"]
    assert search.best_index_ == 2


def test_a_scorer_of_several_metrics():
    def scoring(estimator, X, y):
        return {"half": estimator.score(X, y) / 2, "x": estimator.x}

    search = hill(scoring=scoring, refit="x", fails_above=0.9, n_iter=15)
    with pytest.warns((FitFailedWarning, UserWarning)):
        search.fit(X, Y)
    failed = np.isnan(search.cv_results_["mean_test_half"])
    assert 0 < failed.sum() == search.result_.history.failed
    assert search.best_score_ == search.best_params_["x"] <= 0.9


# ---------------------------------------------------------------------- failures


@pytest.mark.filterwarnings("ignore:(One or more|all fits failed|\n.* fits failed out of)")
@given(
    seed=st.integers(0, 2**31 - 2),
    batch_size=st.integers(1, 4),
    n_iter=st.integers(4, 12),
    fails_above=st.floats(0.3, 1),
)
def test_failed_candidates_are_failed_trials(seed, batch_size, n_iter, fails_above):
    search = hill(
        random_state=seed, batch_size=batch_size, n_iter=n_iter, fails_above=fails_above,
        return_train_score=True,
    )  # fmt: skip
    with suppress(ValueError):
        search.fit(X, Y)
    if not hasattr(search, "result_"):  # all fits failed
        with pytest.raises(ValueError, match="fits failed"):
            search.fit(X, Y)
        return
    results, history = search.cv_results_, search.result_.history
    x = np.array([params["x"] for params in results["params"]])
    assert len(x) == n_iter
    assert (results["param_x"] == x).all()
    assert history.params == results["params"]
    for key in ("mean_test_score", "mean_train_score", "split1_test_score"):
        assert (np.isnan(results[key]) == (x > fails_above)).all()
    states = [trial.state == "failed" for trial in history.trials]
    assert states == (x > fails_above).tolist()
    assert len(search.result_.searcher.trials.failed) == sum(states)
    assert results["rank_test_score"][search.best_index_] == 1
    assert search.best_index_ == np.nanargmax(results["mean_test_score"])


def test_a_failed_fold_fails_the_candidate():
    search = hill(fails_above=0.5, only_fold=0.0, n_iter=15, cv=KFold(2))
    with pytest.warns((FitFailedWarning, UserWarning)):
        search.fit(X, Y)
    failed = np.array([params["x"] > 0.5 for params in search.cv_results_["params"]])
    assert 0 < failed.sum() == search.result_.history.failed
    assert (np.isnan(search.cv_results_["mean_test_score"]) == failed).all()


def test_a_finite_error_score_is_a_score():
    search = hill(fails_above=0.6, error_score=-1.0, n_iter=15)
    with pytest.warns(
        FitFailedWarning, match="all fits failed for .* set to -1.0(.|\n)*cannot fit"
    ):
        search.fit(X, Y)
    values = search.result_.history.values
    assert (values == search.cv_results_["mean_test_score"]).all()
    assert search.result_.history.failed == 0
    assert values.min() == -1.0


def test_failures_are_reported_once_and_their_reason_is_recorded():
    with pytest.warns() as caught:
        search = hill(fails_above=0.5, n_iter=15).fit(X, Y)
    assert [warning.category for warning in caught] == [UserWarning, FitFailedWarning]
    reasons = [trial.reason for trial in search.result_.history.trials if trial.reason]
    assert len(reasons) > 1
    assert all("all fits failed: RuntimeError: cannot fit x=" in reason for reason in reasons)


def test_errors_are_raised():
    with pytest.raises(ValueError, match="All the 2 fits failed"):
        hill(fails_above=-1.0).fit(X, Y)
    with pytest.raises(RuntimeError, match="cannot fit"):
        hill(fails_above=-1.0, error_score="raise").fit(X, Y)


# ---------------------------------------------------------------------- conventions of scikit-learn


def test_groups_and_weights():
    weights, groups = np.linspace(0.1, 1, 150), np.arange(150) % 5
    space = Space(var_smoothing=Float(1e-9, 1e-1, log=True))
    model = GaussianNB()
    search = BoughSearchCV(model, space, n_iter=3, cv=GroupKFold(5), random_state=0)
    search.fit(*IRIS, groups=groups)
    best = clone(model).set_params(**search.best_params_)
    expected = cross_val_score(best, *IRIS, groups=groups, cv=GroupKFold(5)).mean()
    assert search.best_score_ == expected
    plain = search.best_estimator_.theta_
    assert (
        search.fit(*IRIS, groups=groups, sample_weight=weights).best_estimator_.theta_ != plain
    ).any()
    with sklearn.config_context(enable_metadata_routing=True):
        routed = model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = BoughSearchCV(routed, space, n_iter=3, cv=GroupKFold(5), random_state=0)
        search.fit(*IRIS, groups=groups, sample_weight=weights)
        assert search.score(*IRIS, sample_weight=weights) > 0.9


def test_pandas():
    pandas = pytest.importorskip("pandas")
    data = load_breast_cancer(as_frame=True)
    space = Space(max_depth=Int(1, 4))
    search = BoughSearchCV(DecisionTreeClassifier(random_state=0), space, n_iter=4, cv=2)
    search.fit(data.data, data.target)
    assert list(search.feature_names_in_) == list(data.data.columns)
    assert len(pandas.DataFrame(search.cv_results_)) == len(search.cv_results_["params"])
    assert search.predict(data.data).shape == (569,)


def test_clone_and_pickle():
    pipeline, space = models()
    search = BoughSearchCV(pipeline, space, n_iter=6, cv=2, random_state=0, stop=[WallTime(60)])
    search.set_params(n_iter=5, estimator__model=GaussianNB())
    copied = clone(search.fit(*IRIS))
    assert not hasattr(copied, "result_")
    assert repr(copied) == repr(search)
    scores = search.cv_results_["mean_test_score"]
    assert (copied.fit(*IRIS).cv_results_["mean_test_score"] == scores).all()
    again = pickle.loads(pickle.dumps(search))
    assert (again.predict(IRIS[0]) == search.predict(IRIS[0])).all()
    asked = [str(fitted.result_.searcher.ask()) for fitted in (again, search)]
    assert asked[0] == asked[1]


def test_not_fitted():
    with pytest.raises(NotFittedError):
        hill().predict(X)
    assert not hasattr(hill(refit=False).fit(X, Y), "predict")


BAD = [
    ("n_iter", 0, "n_iter must be at least 1"),
    ("n_iter", 2.5, "n_iter must be an int"),
    ("batch_size", 0, "batch_size must be at least 1"),
    ("noise", -1.0, "noise must not be negative"),
    ("stop", 3, "stop must be a list of functions"),
    ("random_state", "0", "'random_state' parameter"),
    ("cv", 1.5, "'cv' parameter"),
    ("error_score", "never", "'error_score' parameter"),
    ("space", [LINE], "space must be a bough.Space, or a dict"),
    ("space", {1: Float(0, 1)}, "space must be a bough.Space, or a dict"),
    ("space", {"x": [1, 2]}, "parameter 'x' must be a Float, Int or Choice"),
    ("space", Space(z=Float(0, 1)), "space must have .* refused {'z'.*Invalid parameter 'z'"),
    (
        "space",
        Space(x=Choice({0.1: None, 0.2: Space(only_fold=Choice({None: Space(z=Int(0, 1))}))})),
        "space must have parameters of the estimator, .*Invalid parameter 'z'",
    ),
    (
        "space",
        Space(x=Choice({"passthrough": Space(x__n_components=Int(1, 2))})),
        "space must have parameters of the estimator, which refused {'x': 'passthrough'",
    ),
]


@pytest.mark.parametrize(("name", "value", "message"), BAD)
def test_bad_arguments(name, value, message):
    search = hill(**{name: value})
    before = dict(vars(search))
    with pytest.raises((TypeError, ValueError), match=message):
        search.fit(X, Y)
    assert vars(search) == before
