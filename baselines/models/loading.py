"""Load a model, of the kind that its ``spec`` implies."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from shiftbench.baselines.models.loaded import LoadedModel
from shiftbench.baselines.models.settings import OPTION, LoadRequest, ModelSettings
from shiftbench.validation.command_line import require
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import PREDICTION_SUFFIXES, TaskKind

if TYPE_CHECKING:
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt


class Classifier(Protocol):
    """A fitted classifier with scikit-learn's interface: ``classes_``, ``predict`` and optionally ``predict_proba``."""

    classes_: Any

    def predict(self, texts: Any) -> Any:
        """Predict a label for each text."""


PICKLES = (".pkl", ".pickle", ".joblib")
_CALLABLE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_HUB_ID = re.compile(r"\w[\w.-]*(?:/[\w.-]+)?")
FORMS = (
    "give a folder or Hub id, 'module:callable', a pipeline saved with skops (.skops), a pickle with --model-arg "
    "trust_pickle=yes, or the URL of an OpenAI-compatible server with --model"
)


def load_model(
    spec: "str | Path | Classifier | Callable[[list[Any]], Any]",
    *,
    kind: TaskKind,
    inputs: Sequence[str],
    labels: Sequence[str],
    label_map: Mapping[str, str] | None = None,
    served_model: str | None = None,
    prompt: "TaskPrompt | None" = None,
    settings: ModelSettings | None = None,
) -> LoadedModel:
    """Load a model for a task. Predicts nothing, but raises all errors that can be found beforehand.

    Args:
        spec: a Hub id or folder (transformers: sequence classifier, tagger, extractive QA, encoder-decoder),
            ``module:callable``, a ``.skops`` file, a pickle, or the URL of an OpenAI-compatible server; or the model
            itself: a fitted classifier with scikit-learn's interface, or a function that maps a list of inputs.
        kind: the task's kind.
        inputs: its input columns.
        labels: its labels or tags; empty for other kinds.
        label_map: the task's label by the model's name for it, if names differ.
        served_model: the model's name on the server.
        prompt: how rows are formatted for a served model; by default a general prompt for the kind of task.
        settings: how the model is loaded and called, such as ``ModelSettings(max_length=64)``.
    Raises: InvalidInput if there is no such model, it is for another kind of task, its labels do not match, or it does
        not support a setting.
    """
    name = str(spec) if isinstance(spec, str | Path) else getattr(spec, "__name__", type(spec).__name__)
    request = LoadRequest(
        name, kind, tuple(inputs), tuple(labels), dict(label_map or {}), served_model, prompt,
        settings or ModelSettings(),
    )  # fmt: skip
    _check_options(request)
    with _name_model_in_problems(name):
        model = _load(request) if isinstance(spec, str | Path) else _wrap(spec, request)
    model.version = [model.version, served_model, dict(request.label_map), asdict(request.settings)]
    return model


def is_url(spec: str) -> bool:
    """Check whether a spec is a server's URL."""
    return spec.startswith(("http://", "https://"))


def require_loader(spec: str) -> None:
    """Raise InvalidInput if the extra needed for a model is not installed; commands call this before reading data."""
    path = Path(spec)
    if is_url(spec):
        require("openai", "llm")
    elif (path / "config.json").is_file() or (not path.exists() and _is_hub_id(spec)):
        require("peft", "train")


def _is_hub_id(spec: str) -> bool:
    """Check whether a spec can be a model id on the Hub, and not the name of a missing file."""
    is_file = Path(spec).suffix.lower() in (".skops", *PICKLES, *PREDICTION_SUFFIXES)
    return _HUB_ID.fullmatch(spec) is not None and not is_file


def _load(request: LoadRequest) -> LoadedModel:
    """Load a model of the kind that its spec implies; local files take precedence over the Hub."""
    spec, path = request.spec, Path(request.spec)
    require_loader(spec)
    if is_url(spec):
        from shiftbench.baselines.models.served import load_served

        return load_served(request)
    if path.suffix in (".skops", *PICKLES) or (path.is_file() and request.settings.trust_pickle):
        from shiftbench.baselines.models.pipelines import load_pipeline_file

        return load_pipeline_file(request, path)
    if path.is_dir():
        return _load_folder(request, path)
    if _CALLABLE.fullmatch(spec):
        from shiftbench.baselines.models.callables import load_callable

        return load_callable(request)
    if path.is_file():
        raise InvalidInput(Problem("this is not a model file", spec, f"file extension '{path.suffix}'", FORMS))
    if not _is_hub_id(spec):
        raise InvalidInput(Problem("there is no such model", spec, cure=FORMS))
    from shiftbench.baselines.models.pretrained import load_pretrained

    return load_pretrained(request)


def _wrap(model: Any, request: LoadRequest) -> LoadedModel:
    from shiftbench.baselines.models.callables import callable_of
    from shiftbench.baselines.models.classes import classes_of
    from shiftbench.baselines.models.pipelines import pipeline_of

    request.settings.refuse_unread(request.spec)
    if classes_of(model) is not None or not callable(model):
        return pipeline_of(model, request, request.spec)
    return callable_of(model, request)


def _load_folder(request: LoadRequest, folder: Path) -> LoadedModel:
    from shiftbench.baselines.models.pretrained import load_pretrained

    if (folder / "adapter_config.json").is_file():  # it names its base model, which may be anywhere
        cure = "merge the adapter into its base model (peft: merge_and_unload) and use that folder"
        raise InvalidInput(Problem("the folder contains an adapter without its base model", request.spec, cure=cure))
    if any(folder.glob("model_head.*")):
        cure = "load it in your own Python file, and pass that file's 'module:model.predict_proba'"
        raise InvalidInput(Problem("loading a SetFit model requires the package setfit", request.spec, cure=cure))
    if not (folder / "config.json").is_file():
        there = ", ".join(sorted(file.name for file in folder.iterdir())[:8]) or "nothing"
        raise InvalidInput(Problem("the folder does not contain a model", request.spec, there, FORMS))
    return load_pretrained(request)


def _check_options(request: LoadRequest) -> None:
    """Raise InvalidInput for all options that do not apply to this kind of model or task."""
    problems = []
    if request.served_model and not is_url(request.spec):
        cure = "omit it, or pass the server's URL as the model"
        problems.append(Problem("this option requires a server", "--model", request.served_model, cure))
    if request.label_map and request.kind not in (TaskKind.CLASSIFICATION, TaskKind.TAGGING):
        found = f"a task of kind '{request.kind.value}'"
        problems.append(Problem("the task has no labels to map", "--label-map", found, "omit it"))
    if request.kind in (TaskKind.CLASSIFICATION, TaskKind.TAGGING) and len(request.labels) < 2:
        cure = "choose a task with at least two labels"
        problems.append(Problem("the task has only one label", request.spec, ", ".join(request.labels), cure))
    if problems:
        raise InvalidInput(problems)


@contextmanager
def _name_model_in_problems(spec: str) -> Iterator[None]:
    """Rewrite problems that name an option of the training programs, which ``predict`` and ``check`` do not have."""
    here = {"--model": spec, "--api-key-env": f"{OPTION} api_key_env"}
    try:
        yield
    except InvalidInput as error:
        error.problems[:] = [
            replace(
                problem,
                file=here.get(problem.file, problem.file),
                cure=FORMS if problem.what == "the model cannot be loaded" else problem.cure,
            )
            for problem in error.problems
        ]
        raise InvalidInput(error.problems) from error.__cause__
