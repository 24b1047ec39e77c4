"""The request to load a model, and its settings, in Python and as ``--model-arg``.

Light to import, so that ``--help`` is fast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.validation.command_line import MODEL, LabelMap
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

if TYPE_CHECKING:
    from shiftbench.baselines.models.loaded import LoadedModel
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt
    from shiftbench.builders.folder.manifest import TaskInfo

OPTION = "--model-arg"
TRANSFORMERS, HUB, WRITERS = "models of transformers", "models on the Hub", "models that write texts"
READERS, SERVED, PICKLES = "models that mark answers in a text", "models on a server", "pickles"
"""Kinds of models, named in the settings that they support."""
_BOOLEANS = {"yes": True, "true": True, "no": False, "false": False}


def _setting(default: Any, read_by: str, about: str, *, low: int | None = None, high: int | None = None) -> Any:
    """Declare a setting: its default, the models that support it, a one-line description, and the range of a number."""
    return field(default=default, metadata={"read_by": read_by, "about": about, "low": low, "high": high})


@dataclass(frozen=True)
class ModelSettings:
    """How a model is loaded and called. Each kind of model supports some settings and refuses the others.

    Raises: InvalidInput if a number is out of range.
    """

    revision: str | None = _setting(None, HUB, "commit, branch or tag")
    max_length: int | None = _setting(
        None, TRANSFORMERS, "most word pieces read of a text; by default as many as the model can", low=8
    )
    max_target: int | None = _setting(
        None, WRITERS, "most tokens of a written text; by default the model's own, else 128, of an answer 20", low=2
    )
    form: str | None = _setting(
        None, WRITERS, "what is read, columns in braces, as 'summarize: {source_text}'; by default all inputs"
    )
    may_abstain: bool = _setting(False, READERS, "let it say that there is no answer (SQuAD 2.0); others always answer")
    instruction: str | None = _setting(None, SERVED, "an instruction of your own; '{labels}' stands for the labels")
    api_key_env: str | None = _setting(
        None, SERVED, "environment variable with the server's key; by default OPENAI_API_KEY, where it is set"
    )
    concurrency: int = _setting(8, SERVED, "requests under way at once", low=1, high=1024)
    timeout: int = _setting(300, SERVED, "seconds to wait for one answer", low=1, high=86_400)
    trust_pickle: bool = _setting(False, PICKLES, "load a pickle of this machine, which can run any code")

    def __post_init__(self) -> None:
        problems = [
            _wrong_value(name, str(value))
            for name, each in SETTINGS.items()
            if each.metadata["low"] is not None
            and (value := getattr(self, name)) is not None
            and not each.metadata["low"] <= value <= (each.metadata["high"] or value)
        ]
        if problems:
            raise InvalidInput(problems)

    def refuse_unread(self, spec: str, *kinds: str) -> None:
        """Raise InvalidInput listing each setting that was given and is for other kinds of models than these."""
        problems = [
            Problem(f"{name} is for {each.metadata['read_by']}", OPTION, f"'{spec}'", "leave it out")
            for name, each in SETTINGS.items()
            if getattr(self, name) != each.default and each.metadata["read_by"] not in kinds
        ]
        if problems:
            raise InvalidInput(problems)


SETTINGS: Mapping[str, "Field[Any]"] = {each.name: each for each in fields(ModelSettings)}
"""The settings by name, with their descriptions in ``metadata``."""


def setting_values(name: str) -> str:
    """Describe the valid values of a setting.

    >>> setting_values("concurrency"), setting_values("may_abstain"), setting_values("form")
    ('a whole number from 1 to 1,024', 'yes or no', 'a text')
    """
    each = SETTINGS[name]
    low, high = each.metadata["low"], each.metadata["high"]
    if low is None:
        return "yes or no" if each.type is bool else "a text"
    return f"a whole number from {low}" + (f" to {high:,}" if high else "")


def parse_model_args(pairs: Sequence[str]) -> ModelSettings:
    """Parse ``--model-arg`` options.

    Args:
        pairs: such as ``max_length=64``; booleans are yes or no.
    Raises: InvalidInput listing malformed pairs, unknown settings, invalid values and repeated settings.

    >>> parse_model_args(["max_length=64", "trust_pickle=yes"]).max_length
    64
    """
    values: dict[str, Any] = {}
    problems = []
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals:
            problems.append(Problem("this is not a setting", OPTION, f"'{pair}'", "write it as NAME=VALUE"))
        elif name not in SETTINGS:
            cure = f"the settings are {', '.join(SETTINGS)}"
            problems.append(Problem("models have no such setting", OPTION, f"'{name}'", cure))
        elif name in values:
            problems.append(Problem("a setting is given twice", OPTION, f"'{name}'", "leave one of them out"))
        else:
            values[name] = _parse_value(name, text)
            problems += [_wrong_value(name, text)] if values[name] is None else []
    if problems:
        raise InvalidInput(problems)
    return ModelSettings(**values)


def _parse_value(name: str, text: str) -> str | int | bool | None:
    """Parse a value; None if it has the wrong type."""
    if SETTINGS[name].type is bool:
        return _BOOLEANS.get(text.casefold())
    if SETTINGS[name].metadata["low"] is None:
        return text
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _wrong_value(name: str, text: str) -> Problem:
    return Problem(f"{name} is {setting_values(name)}", OPTION, f"'{text}'", f"write {OPTION} {name}=VALUE")


@dataclass(frozen=True)
class LoadRequest:
    """The arguments of ``load_model``."""

    spec: str
    kind: TaskKind
    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    label_map: Mapping[str, str]
    served_model: str | None
    prompt: "TaskPrompt | None"
    settings: ModelSettings


ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A Hub id or folder, 'module:callable' that gets a list of texts, a .skops file, a pickle "
        "that you trust, or the URL of an "
        "OpenAI-compatible server with --model.",
    ),
]
ModelArgs = Annotated[
    list[str] | None,
    typer.Option(
        OPTION,
        metavar="NAME=VALUE",
        help=f"Setting of the model: {', '.join(SETTINGS)}; repeat for more.",
        rich_help_panel=MODEL,
    ),
]


@dataclass
class ModelOptions:
    """Options of commands that accept any model, as typed; ``labels`` and ``settings`` are parsed from them."""

    served_model: Annotated[
        str | None,
        typer.Option(
            "--model", "--served-model", metavar="NAME", help="The model's name on the server that MODEL is.",
            rich_help_panel=MODEL,
        ),
    ] = None  # fmt: skip
    label_map: LabelMap = None
    model_arg: ModelArgs = None

    def __post_init__(self) -> None:
        from shiftbench.baselines.models.labels import parse_label_map

        self.labels = parse_label_map(self.label_map or ())
        self.settings = parse_model_args(self.model_arg or ())

    def load(self, spec: Any, task: "TaskInfo", prompt: "TaskPrompt | None" = None) -> "LoadedModel":
        """Load the model that a spec names for a task; see ``load_model``."""
        from shiftbench.baselines.models.loading import load_model

        return load_model(
            spec, kind=task.kind, inputs=task.inputs, labels=task.labels, label_map=self.labels,
            served_model=self.served_model, prompt=prompt, settings=self.settings,
        )  # fmt: skip
