"""Hostile skops files are refused by what stands in them; honest ones predict as they did, in a confined process."""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from joblib import parallel_config
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import all_estimators
from skops import io

from shiftbench.baselines.models.skops_check import check_skops, read_list
from shiftbench.validation.report import InvalidInput
from tests.baselines.models import honest
from tests.baselines.models.hostile import bomb, hostile_files, items, mapping, node, save, saved_by_skops, value

LEFT_OUT = {
    "BernoulliRBM", "CategoricalNB", "ClassifierChain", "ExtraTreeRegressor", "GaussianProcessClassifier",
    "HistGradientBoostingClassifier", "LabelPropagation", "LabelSpreading", "MultiOutputClassifier",
    "OutputCodeClassifier", "RadiusNeighborsClassifier", "SGDOneClassSVM", "TunedThresholdClassifierCV",
}  # fmt: skip
"""Classifiers that texts are not given to, or whose compiled parts trust what a file says."""


def dump(classifier: Any) -> bytes:
    content: bytes = io.dumps(make_pipeline(TfidfVectorizer(), classifier).fit(honest.TEXTS, honest.LABELS))
    return content


@pytest.fixture(scope="module")
def watched() -> list[str]:
    """Return what Python was asked to open, run or import while a list of it is kept."""
    seen: list[str] = []
    watched_events = ("open", "os.", "subprocess.", "socket.", "import", "shutil.", "tempfile.", "exec")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if _IS_WATCHING and event.startswith(watched_events):
            seen.append(f"{event} {arguments!r}")

    sys.addaudithook(hook)
    return seen


_IS_WATCHING: list[bool] = []


def test_hostile_files_are_refused_before_anything_happens(tmp_path: Path, watched: list[str]) -> None:
    canary = tmp_path / "canary"
    canary.write_bytes(b"here")
    neighbours = dump(KNeighborsClassifier(2, metric="cosine"))
    files = hostile_files(
        dump(LogisticRegression()), dump(RandomForestClassifier(2, random_state=0)), neighbours, canary
    )
    files |= saved_by_skops(canary) | {"bomb": bomb()}
    canary.write_bytes(b"here")
    assert len(files) >= 50
    read_list()
    for name, content in files.items():
        watched.clear()
        _IS_WATCHING.append(True)
        with pytest.raises(InvalidInput) as refused:
            check_skops(content, "m.skops")
        _IS_WATCHING.clear()
        assert refused.value.problems[0].found.isprintable(), name
        assert not watched, name
    assert canary.read_bytes() == b"here"
    assert [path.name for path in tmp_path.iterdir()] == ["canary"]


def test_each_parameter_of_each_class_refuses_what_could_do_more_than_compute() -> None:
    function = node("FunctionNode", "os.system")
    hostile = [
        function, node("TypeNode", "builtins.open"), node("MethodNode", "builtins.list", content={}),
        items(function), mapping(func=function), value("/etc/passwd"), value("filename"), value("pyfunc"),
    ]  # fmt: skip
    n_checked = 0
    for name, parameters in read_list().estimators.items():
        for parameter, allowed in [*parameters.items(), ("fitted_", ("<text>",)), ("predict", ())]:
            for each in hostile:
                if each["__loader__"] == "JsonNode" and ("<text>" in allowed or "<left out>" in allowed):
                    continue
                with pytest.raises(InvalidInput):
                    check_skops(save(node("ObjectNode", name, content=mapping(**{parameter: each}))), "m.skops")
                n_checked += 1
    assert n_checked > 4_000


def test_the_list_is_of_classes_that_scikit_learn_has() -> None:
    known = {f"{each.__module__}.{each.__name__}": each for _, each in all_estimators()}
    listed = read_list()
    public = {name for name in listed.estimators if not name.startswith(("sklearn._loss", "sklearn.calibration._"))}
    assert public - set(known) == {"sklearn.multiclass._ConstantPredictor"}
    for name in public & set(known):
        parameters = set(known[name]._get_param_names())
        assert parameters <= set(listed.estimators[name]), name
    classifiers = {each.__name__ for _, each in all_estimators(type_filter="classifier")}
    names = {name.rpartition(".")[2] for name in {*listed.estimators, *listed.searches}}
    assert classifiers - names - LEFT_OUT == set()


def test_no_parameter_takes_a_path_a_cache_or_a_file() -> None:
    for name, parameters in read_list().estimators.items():
        assert parameters.get("input", ("content",)) == ("content",), name
        for parameter in ("memory", "func", "inverse_func", "tokenizer", "preprocessor", "kw_args"):
            assert parameters.get(parameter, ()) == (), name
        assert not {"precomputed", "pyfunc"} & set(parameters.get("metric", ())), name


def test_honest_pipelines_predict_as_before(tmp_path: Path) -> None:
    expected = {}
    # Threads, because processes of joblib would import scikit-learn again.
    with warnings.catch_warnings(), parallel_config("threading"):
        warnings.simplefilter("ignore")
        for name, pipeline in honest.honest_pipelines().items():
            io.dump(pipeline.fit(honest.TEXTS, honest.LABELS), tmp_path / f"{name}.skops")
            expected[name] = json.loads(json.dumps(honest.predictions(pipeline)))
    command = [sys.executable, "-m", "tests.baselines.models.honest", str(tmp_path)]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=300).stdout)
    assert len(expected) >= 20
    assert found == expected
