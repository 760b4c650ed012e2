"""bough as a hyperparameter search of scikit-learn.

An option of a choice may be an estimator, such as a step of a pipeline. The space of the option has
the parameters of that estimator, by their names in the pipeline.
"""

import copy
import math
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

try:
    from sklearn.base import clone
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV  # (has no public address)
    from sklearn.utils import check_random_state
except ImportError as error:
    raise ImportError("this needs scikit-learn: pip install 'bough[sklearn]'") from error
from joblib import effective_n_jobs

from bough._validation import at_least_zero, whole
from bough.exceptions import Exhausted
from bough.run.executors import Job
from bough.run.loop import SearchRun, Unrecorded
from bough.run.maximize import checked_rules
from bough.run.progress import Interrupts
from bough.spaces import Choice, Forest, Space
from bough.studies.trials import Domain

__all__ = ["BoughSearchCV"]

#: The error by which scikit-learn refuses candidates if none of their fits succeeded.
ALL_FAILED = re.compile(r"\s*All the \d+ fits failed")
NOT_FINITE = "One or more of the (test|train) scores are non-finite"

Params = dict[str, Any]


class BoughSearchCV(BaseSearchCV):  # type: ignore[misc]  # scikit-learn has no types
    """Search for the hyperparameters of an estimator by Gaussian-process tree search.

    The search maximizes the mean test score of a cross-validation. Parameters, methods and fitted
    attributes (`cv_results_`, `best_params_`, ...) that are not described here are those of
    scikit-learn's `RandomizedSearchCV`.

    Parameters
    ----------
    estimator : estimator
        The estimator, such as a pipeline. Its type (classifier or regressor) determines the default
        scoring and folds.
    space : Space or dict of str to Float, Int or Choice
        The parameters to search, by the names of `estimator.set_params`, such as `svc__C`. Options
        of a choice that are estimators are cloned for each candidate.
    n_iter : int
        The number of candidates. There are fewer if all points of a finite space are known.
    scoring : str, callable, list, tuple or dict, optional
        The metrics. If there are several, the search optimizes the one named by `refit`, or the
        first one if `refit` names none.
    n_jobs : int, optional
        The number of jobs that run in parallel.
    batch_size : int, optional
        The number of candidates that are chosen and evaluated at a time, by default one for each
        job.
    stop : rule or list of rules
        Rules as of `bough.maximize`, such as `WallTime(60)` or `Patience(20)`, that end the search
        before `n_iter` candidates. They are checked after each batch.
    noise : float, optional
        The standard deviation of the mean score when a candidate is evaluated again; by default
        fitted, after one candidate is evaluated twice. All candidates are compared on the same
        folds, so it is 0 if the estimators are deterministic. (It is not the standard deviation
        over folds.)
    random_state : int, RandomState instance or None
        The seed of the search. Scores that are reproducible give the same candidates for the same
        seed and batch size.
    error_score : "raise" or float
        The score of a fold whose fit fails. A candidate whose mean score is not finite is a failed
        trial: it counts as a candidate, and the search avoids its neighborhood.

    Attributes
    ----------
    result_ : Result
        The result of the search, with all trials, `plot` and `report`; `result_.searcher` is the
        searcher, and `result_.searcher.space` the space. With noise `result_.best`, the best by the
        model, may differ from `best_params_`, those with the highest score.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import Pipeline
    >>> from sklearn.svm import SVC
    >>> from bough import Choice, Float, Space
    >>> space = Space(model=Choice({
    ...     SVC(): Space(model__C=Float(0.01, 100, log=True)),
    ...     LogisticRegression(max_iter=500): Space(model__C=Float(0.001, 10, log=True)),
    ... }))
    >>> search = BoughSearchCV(Pipeline([("model", SVC())]), space, n_iter=8, random_state=0)
    >>> sorted(search.fit(*load_iris(return_X_y=True)).best_params_)
    ['model', 'model__C']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSearchCV._parameter_constraints,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        space: Any,
        *,
        n_iter: int = 50,
        scoring: Any = None,
        n_jobs: int | None = None,
        batch_size: int | None = None,
        stop: Any = (),
        noise: float | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.space = space
        self.n_iter = n_iter
        self.batch_size = batch_size
        self.stop = stop
        self.noise = noise
        self.random_state = random_state
        super().__init__(
            estimator=estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv,
            verbose=verbose, pre_dispatch=pre_dispatch, error_score=error_score,
            return_train_score=return_train_score,
        )  # fmt: skip

    def fit(self, X: Any, y: Any = None, **params: Any) -> "BoughSearchCV":
        """Search, and fit the best estimator to all of the data if `refit` is set.

        Parameters
        ----------
        X, y : array-like
            The data; y is None for unsupervised learning.
        **params
            Parameters of the `fit` method of the estimator, of the scorer and of the splitter, such
            as `groups`.
        """
        whole(self.n_iter, "n_iter", least=1)
        if self.batch_size is not None:
            whole(self.batch_size, "batch_size", least=1)
        if self.noise is not None:
            at_least_zero(self.noise, "noise")
        checked_rules(copy.deepcopy(self.stop), self.n_iter)
        _check_names(_as_space(self.space), self.estimator)
        super().fit(X, y, **params)
        return self

    def _run_search(self, evaluate_candidates: Any) -> None:
        space = _as_space(self.space)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        trials = Unrecorded(Forest(space, noise=self.noise, rng=seed), 1.0)
        run = SearchRun(trials, True, Domain(space, "space"), Interrupts(), (ValueError,), 0, None)
        rules, _ = checked_rules(copy.deepcopy(self.stop), self.n_iter)
        batch_size = self.batch_size or effective_n_jobs(self.n_jobs)
        # Some splitters draw other folds each time they are called.
        folds = _Folds(self.cv) if hasattr(self.cv, "split") else None
        results: dict[str, Any] = {}
        refused: list[Job] = []  # all of whose fits failed: scikit-learn does not record them
        failure = stopped_by = None
        while stopped_by is None:
            jobs: Any = _Batch(batch_size)
            try:
                run.fill(jobs, self.n_iter)
            except Exhausted:
                stopped_by = "exhausted"
                break
            scores, reason = [self.error_score] * len(jobs), None
            try:
                results = evaluate_candidates([job.candidate for job in jobs], cv=folds)
                scores = results[self._guide(results)][-len(jobs) :]
            except ValueError as error:
                if self.error_score == "raise" or not ALL_FAILED.match(str(error)):
                    raise
                failure = error
                refused += jobs
                if not math.isfinite(self.error_score):
                    last_line = str(error).strip().splitlines()[-1]
                    reason = ValueError(f"all fits failed: {last_line}")
            for job, score in zip(jobs, scores, strict=True):
                run.settle(jobs, (job, float(score), reason))
            stopped_by = run.stopped_by(self.n_iter, rules)
        if not results and failure:
            raise failure
        results.update(self._with_refused(refused))  # which become `cv_results_`
        if failure:
            details = str(failure).partition("details about the failures:")[2]
            warnings.warn(
                f"all fits failed for {len(refused)} of {len(results['params'])} candidates, whose "
                f"scores are set to {self.error_score}. Of the last of them:{details}",
                FitFailedWarning,
                stacklevel=2,
            )
        self.result_ = run.result(stopped_by)

    def _guide(self, results: Mapping[str, Any]) -> str:
        """Return the key of the mean score that guides the search."""
        named = f"mean_test_{self.refit}"
        return named if named in results else next(k for k in results if k.startswith("mean_test_"))

    def _format_results(
        self, candidate_params: list[Params], n_splits: int, out: list[Params], more: Any = None
    ) -> dict[str, Any]:
        self._recorded = candidate_params, n_splits, out
        with warnings.catch_warnings():  # it would be repeated with each batch
            warnings.filterwarnings("ignore", NOT_FINITE, UserWarning)
            results: dict[str, Any] = super()._format_results(candidate_params, n_splits, out, more)
        return results

    def _with_refused(self, refused: list[Job]) -> dict[str, Any]:
        """Return `cv_results_` with candidates that scikit-learn refused to record."""
        candidates, n_splits, out = self._recorded
        del self._recorded
        failed = dict(out[0], fit_time=math.nan, score_time=math.nan)
        for key in {"test_scores", "train_scores"} & failed.keys():
            score, several = self.error_score, isinstance(out[0][key], dict)
            failed[key] = dict.fromkeys(out[0][key], score) if several else score
        for job in refused:
            candidates.insert(job.id, job.candidate)
            out[job.id * n_splits : job.id * n_splits] = [failed] * n_splits
        results: dict[str, Any] = super()._format_results(candidates, n_splits, out)
        return results


class _Batch(list[Job]):
    """Jobs that are evaluated together."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def has_room(self) -> bool:
        return len(self) < self._size

    def submit(self, job: Job) -> None:
        self.append(job)


class _Folds:
    """The folds of a splitter, drawn once: all candidates are compared on the same folds."""

    def __init__(self, splitter: Any) -> None:
        self._splitter = splitter
        self._folds: list[Any] | None = None

    def split(self, *data: Any, **params: Any) -> list[Any]:
        if self._folds is None:
            self._folds = list(self._splitter.split(*data, **params))
        return self._folds


def _as_space(given: Any) -> Space:
    """Return a copy of the given space, since spaces cache what they compute."""
    if isinstance(given, Space):
        return copy.deepcopy(given)
    if isinstance(given, Mapping) and all(isinstance(name, str) for name in given):
        return Space(**copy.deepcopy(dict(given)))
    raise TypeError(
        "space must be a bough.Space, or a dict from names of parameters to bough.Float, bough.Int "
        f"and bough.Choice objects, got {given!r}"
    )


def _check_names(space: Space, estimator: Any) -> None:
    """Raise if the estimator does not have all parameters of the space, those of options too."""
    rng = np.random.default_rng(0)
    for options in _options(space, space.roots, {}):
        params = space.params(space.random_point(rng, fixed=options))
        try:
            clone(estimator).set_params(**clone(params, safe=False))
        except (AttributeError, ValueError) as error:
            raise ValueError(
                f"space must have parameters of the estimator, which refused {params}: {error}"
            ) from error


def _options(
    space: Space, slots: tuple[int, ...], chosen: dict[int, float | None]
) -> Iterator[dict[int, float | None]]:
    """Yield positions of choices such that each option is chosen once."""
    yield chosen
    for slot in slots:
        if isinstance(space.slots[slot].parameter, Choice):
            for option, inner in enumerate(space.slots[slot].inner):
                yield from _options(space, inner, chosen | {slot: option})
