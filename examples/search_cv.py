"""Search the steps of a scikit-learn pipeline: `python examples/search_cv.py`.

Needs scikit-learn. The data set (patients with diabetes) comes with it.
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVR

from bough import Choice, Float, Int, Space
from bough.integrations.sklearn import BoughSearchCV

pipeline = Pipeline([("features", "passthrough"), ("scale", StandardScaler()), ("model", Ridge())])
space = Space(
    features=Choice(
        {
            "passthrough": None,
            PolynomialFeatures(include_bias=False): Space(
                features__interaction_only=Choice([True, False])
            ),
        }
    ),
    model=Choice(
        {
            Ridge(): Space(model__alpha=Float(1e-2, 1e4, log=True)),
            SVR(): Space(
                model__C=Float(1e-1, 1e3, log=True), model__gamma=Float(1e-4, 1e-1, log=True)
            ),
            KNeighborsRegressor(): Space(model__n_neighbors=Int(1, 100, log=True)),
        }
    ),
)

if __name__ == "__main__":
    X, X_test, y, y_test = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
    search = BoughSearchCV(pipeline, space, n_iter=40, noise=0.0, random_state=0).fit(X, y)
    for name, value in search.best_params_.items():
        print(f"{name:27} {value}")
    print(f"R^2 in cross-validation     {search.best_score_:.3f}")
    print(f"R^2 of held-out patients    {search.score(X_test, y_test):.3f}")
