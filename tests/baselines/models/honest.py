"""Pipelines of the kinds that people save, and a program that loads and asks them all in one confined process."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import NMF, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectFromModel, SelectKBest, chi2
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

TEXTS = ["red cup on sand", "blue cup", "green boat", "white boat at sea", "a dune", "one wave"] * 5
LABELS = ["land", "land", "sea", "sea", "land", "sea"] * 5
ASKED = ["red cup", "the boat", "", "a wave on the dune", "sand sand sea"]


def honest_pipelines() -> dict[str, Any]:
    """Build unfitted pipelines by name; all take texts."""
    of_words = {
        "sgd": SGDClassifier(loss="modified_huber", random_state=0),
        "sgd hinge": SGDClassifier(random_state=np.random.RandomState(1)),
        "linear svc": LinearSVC(class_weight={"land": 1.0, "sea": 2.0}),
        "multinomial": MultinomialNB(),
        "complement": ComplementNB(),
        "bernoulli": BernoulliNB(),
        "forest": RandomForestClassifier(5, random_state=0, n_jobs=-1),
        "extra trees": ExtraTreesClassifier(5, random_state=0),
        "tree": DecisionTreeClassifier(random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=3, random_state=0),
        "ada": AdaBoostClassifier(n_estimators=3, random_state=0),
        "bagging": BaggingClassifier(LogisticRegression(), 3, random_state=0),
        "calibrated": CalibratedClassifierCV(LinearSVC(), cv=2),
        "isotonic": CalibratedClassifierCV(LinearSVC(), method="isotonic", cv=2),
        "neighbours": KNeighborsClassifier(3, metric="cosine"),
        "centroid": NearestCentroid(),
        "mlp": MLPClassifier((4,), max_iter=300, random_state=0),
        "ridge": RidgeClassifier(),
        "perceptron": Perceptron(),
        "svc": SVC(kernel="linear"),
        "one vs rest": OneVsRestClassifier(LogisticRegression()),
        "one vs one": OneVsOneClassifier(LinearSVC()),
        "dummy": DummyClassifier(),
        "voting": VotingClassifier([("a", LogisticRegression()), ("b", MultinomialNB())], voting="soft", n_jobs=2),
        "stacking": StackingClassifier([("a", LogisticRegression()), ("b", MultinomialNB())], cv=2),
    }
    pipelines = {name: make_pipeline(TfidfVectorizer(), model) for name, model in of_words.items()}
    logistic = LogisticRegression()
    grid = {"countvectorizer__binary": [True, False], "logisticregression__C": [1, 10]}
    search = GridSearchCV(make_pipeline(CountVectorizer(), logistic), grid, cv=StratifiedKFold(2), scoring="f1_macro")
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3), sublinear_tf=True, dtype=np.float32)
    words = CountVectorizer(stop_words=["a", "the"], token_pattern=r"\b\w+\b", lowercase=True)
    return pipelines | {
        "search": search,
        "default search": make_pipeline(CountVectorizer(), GridSearchCV(logistic, {"C": [1]}, cv=2)),
        "union": make_pipeline(make_union(letters, words, n_jobs=2), logistic),
        "hashing": make_pipeline(HashingVectorizer(n_features=64), TfidfTransformer(), logistic),
        "svd": make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0), Normalizer(), logistic),
        "nmf": make_pipeline(TfidfVectorizer(), NMF(3, random_state=0), StandardScaler(), LinearDiscriminantAnalysis()),
        "selected": make_pipeline(CountVectorizer(vocabulary=["cup", "boat", "sea"]), SelectKBest(chi2, k=2), logistic),
        "from model": make_pipeline(
            CountVectorizer(stop_words="english"), MaxAbsScaler(), SelectFromModel(LinearSVC()), logistic
        ),
    }  # fmt: skip


def predictions(estimator: Any) -> Mapping[str, Any]:
    """Return what an estimator says of ``ASKED``."""
    found = {"predict": np.asarray(estimator.predict(ASKED)).tolist(), "classes": list(map(str, estimator.classes_))}
    if hasattr(estimator, "predict_proba"):
        found["predict_proba"] = estimator.predict_proba(ASKED).tolist()
    return found


def main(folder: Path) -> None:
    """Load each skops file of a folder as the worker does, and print what they predict."""
    from joblib import cpu_count
    from skops import io

    from shiftbench.baselines.models.confinement import leave_network, refuse_in_python, refuse_writing
    from shiftbench.baselines.models.skops_check import check_skops

    files = {path.stem: path.read_bytes() for path in sorted(folder.glob("*.skops"))}
    cpu_count(only_physical_cores=True)
    has_left_network = leave_network()
    refuse_writing(has_left_network=has_left_network)
    refuse_in_python()
    found = {}
    for name, content in files.items():
        try:
            checked = check_skops(content, name)
            found[name] = predictions(io.loads(checked, trusted=io.get_untrusted_types(data=checked)))
        except Exception as error:
            found[name] = {"failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
