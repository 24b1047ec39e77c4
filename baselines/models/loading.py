"""Which kind of model a ``spec`` names, and loading it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.baselines.models.loaded import LoadedModel
from shiftbench.baselines.models.request import LoadRequest
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

if TYPE_CHECKING:
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt

PICKLES = (".pkl", ".pickle", ".joblib")
_CALLABLE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_HUB_ID = re.compile(r"\w[\w.-]*(?:/[\w.-]+)?")
FORMS = (
    "give a folder or Hub id, 'module:callable', a pipeline saved with skops (.skops), a pickle with --trust-pickle, "
    "or the URL of an OpenAI-compatible server with --model"
)


def load_model(
    spec: str,
    *,
    kind: TaskKind,
    inputs: Sequence[str],
    labels: Sequence[str],
    label_map: Mapping[str, str] | None = None,
    trust_pickle: bool = False,
    served_model: str | None = None,
    revision: str | None = None,
    max_length: int | None = None,
    max_target: int | None = None,
    form: str | None = None,
    may_abstain: bool = False,
    prompt: "TaskPrompt | None" = None,
    instruction: str | None = None,
    api_key_env: str | None = None,
    concurrency: int = 8,
) -> LoadedModel:
    """Load a model for a task; nothing is predicted yet, but all that can be refused beforehand is.

    Args:
        spec: a Hub id or folder (transformers: sequence classifier, tagger, extractive QA, encoder-decoder; a SetFit
            folder), ``module:callable``, a ``.skops`` file, a pickle, or the URL of an OpenAI-compatible server.
        kind: the task's kind.
        inputs: its input columns.
        labels: its labels or tags; none of other kinds.
        label_map: the task's label by the model's name of it, where names differ.
        trust_pickle: load pickles, which can run any code; from local paths alone.
        served_model: the model's name on the server.
        revision: commit, branch or tag of a Hub model.
        max_length: word pieces that are read of a text; default what the model reads.
        max_target: tokens of a written text; default 128, of an answer 20, or what the model's own settings say.
        form: what an encoder-decoder reads, input columns in braces; default as ``finetune-seq2seq`` trains it.
        may_abstain: let a model of extractive QA say that there is no answer (SQuAD 2.0); others always answer.
        prompt: how rows are put to a served model; default general words for the kind of task.
        instruction: own words for it instead; ``{labels}`` stands for the labels.
        api_key_env: environment variable with the server's key; default OPENAI_API_KEY, where it is set.
        concurrency: requests to the server under way at once.
    Returns: the model.
    Raises: InvalidInput when there is no such model, it does something else than the task, or its labels are others.
    """
    request = LoadRequest(
        spec, kind, tuple(inputs), tuple(labels), dict(label_map or {}), trust_pickle, served_model, revision,
        max_length, max_target, form, may_abstain, prompt, instruction, api_key_env, concurrency,
    )  # fmt: skip
    _check_options(request)
    with _name_model_in_problems(spec):
        return _load(request)


def is_url(spec: str) -> bool:
    """Check whether a spec is the address of a server."""
    return spec.startswith(("http://", "https://"))


def _load(request: LoadRequest) -> LoadedModel:
    """Load a model by the kind that its spec names; what lies on this machine comes before the Hub."""
    spec, path = request.spec, Path(request.spec)
    if is_url(spec):
        from shiftbench.baselines.models.served import load_served

        return load_served(request)
    if path.suffix in (".skops", *PICKLES) or (path.is_file() and request.trust_pickle):
        from shiftbench.baselines.models.pipelines import load_pipeline_file

        return load_pipeline_file(request, path)
    if path.is_dir():
        return _load_folder(request, path)
    if _CALLABLE.fullmatch(spec):
        from shiftbench.baselines.models.callables import load_callable

        return load_callable(request)
    if path.is_file():
        raise InvalidInput(Problem("this file holds no model", spec, f"the ending '{path.suffix}'", FORMS))
    if not _HUB_ID.fullmatch(spec):
        raise InvalidInput(Problem("there is no such model", spec, cure=FORMS))
    from shiftbench.baselines.models.pretrained import load_pretrained

    return load_pretrained(request)


def _load_folder(request: LoadRequest, folder: Path) -> LoadedModel:
    from shiftbench.baselines.models.pretrained import load_pretrained
    from shiftbench.baselines.models.sentence_model import find_head, load_sentence_model

    if (folder / "adapter_config.json").is_file():  # it names its model, which may lie anywhere
        cure = "merge the adapter into its model (peft: merge_and_unload) and give that folder"
        raise InvalidInput(Problem("the folder holds an adapter without its model", request.spec, cure=cure))
    if (folder / "modules.json").is_file() and find_head(folder) is not None:
        return load_sentence_model(request, folder)
    if not (folder / "config.json").is_file():
        there = ", ".join(sorted(file.name for file in folder.iterdir())[:8]) or "nothing"
        raise InvalidInput(Problem("the folder holds no model", request.spec, there, FORMS))
    return load_pretrained(request)


def _check_options(request: LoadRequest) -> None:
    """Raise InvalidInput for all options that do not belong to this kind of model or task."""
    problems = []
    if request.served_model and not is_url(request.spec):
        cure = "leave it out, or give the server's URL in place of the model"
        problems.append(Problem("this is for a server", "--model", request.served_model, cure))
    if request.label_map and request.kind not in (TaskKind.CLASSIFICATION, TaskKind.TAGGING):
        found = f"a task of kind '{request.kind.value}'"
        problems.append(Problem("the task has no labels to map", "--label-map", found, "leave it out"))
    if request.kind in (TaskKind.CLASSIFICATION, TaskKind.TAGGING) and len(request.labels) < 2:
        cure = "give a task with two labels or more"
        problems.append(Problem("the task has one label only", request.spec, ", ".join(request.labels), cure))
    if problems:
        raise InvalidInput(problems)


@contextmanager
def _name_model_in_problems(spec: str) -> Iterator[None]:
    """Replace ``--model`` in problems by the model's name: the training programs call it so, these commands do not."""
    try:
        yield
    except InvalidInput as error:
        error.problems[:] = [
            replace(problem, file=spec, cure=_cure(problem)) if problem.file == "--model" else problem
            for problem in error.problems
        ]
        raise InvalidInput(error.problems) from error.__cause__


def _cure(problem: Problem) -> str:
    return FORMS if problem.what == "the model cannot be loaded" else problem.cure
