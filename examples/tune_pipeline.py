"""Tune a scikit-learn pipeline with a conditional space: `python examples/tune_pipeline.py`.

Or by the command, with the same file: `bough tune examples/tune_pipeline.py:accuracy --budget 60`.
Needs scikit-learn. The data set (images of digits) comes with it.
"""

from typing import Any

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import bough

space = bough.Space(
    reduce=bough.Choice({"no": None, "pca": bough.Space(components=bough.Int(5, 60))}),
    model=bough.Choice(
        {
            "svm": bough.Space(
                C=bough.Float(1e-2, 1e3, log=True),
                kernel=bough.Choice(
                    {"linear": None, "rbf": bough.Space(gamma=bough.Float(1e-5, 1, log=True))}
                ),
            ),
            "forest": bough.Space(
                n_estimators=bough.Int(10, 100, log=True), max_depth=bough.Int(2, 16)
            ),
            "logistic": bough.Space(C=bough.Float(1e-4, 1e1, log=True)),
        }
    ),
)

MODELS = {
    "svm": lambda options: SVC(**options),
    "forest": lambda options: RandomForestClassifier(random_state=0, **options),
    "logistic": lambda options: LogisticRegression(max_iter=200, tol=1e-2, **options),
}
IMAGES, DIGITS = load_digits(return_X_y=True)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def accuracy(params: dict[str, Any]) -> float:
    """Return the share of digits that are read right, in three-fold cross-validation."""
    options = dict(params)
    steps: list[Any] = [StandardScaler()]
    if options.pop("reduce") == "pca":
        steps.append(PCA(options.pop("components"), random_state=0))
    model = MODELS[options.pop("model")]
    # One third of the images, so that the example takes half a minute.
    pipeline = make_pipeline(*steps, model(options))
    return float(cross_val_score(pipeline, IMAGES[::3], DIGITS[::3], cv=FOLDS).mean())


if __name__ == "__main__":
    print(bough.maximize(accuracy, space, budget=60, rng=0))
