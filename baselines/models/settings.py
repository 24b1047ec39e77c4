"""The request to load a model, and its settings, in Python and as ``--model-arg``.

Light to import, so that ``--help`` is fast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

if TYPE_CHECKING:
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt

OPTION = "--model-arg"
TRANSFORMERS, HUB, WRITERS = "transformers models", "models on the Hub", "generative models"
READERS, SERVED, PICKLES = "extractive QA models", "models on a server", "pickles"
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
    max_length: int | None = _setting(None, TRANSFORMERS, "maximum tokens of an input; default: the model's", low=8)
    max_target: int | None = _setting(
        None, WRITERS, "maximum tokens of a generated text; default: the model's, else 128 (QA: 20)", low=2
    )
    form: str | None = _setting(
        None, WRITERS, "input template, columns in braces, as 'summarize: {source_text}'; default: all inputs"
    )
    may_abstain: bool = _setting(False, READERS, "allow the model to return no answer (SQuAD 2.0)")
    instruction: str | None = _setting(None, SERVED, "your own instruction; '{labels}' is replaced by the labels")
    api_key_env: str | None = _setting(None, SERVED, "environment variable of the key; default: OPENAI_API_KEY, if set")
    concurrency: int = _setting(8, SERVED, "concurrent requests", low=1, high=1024)
    timeout: int = _setting(300, SERVED, "timeout of a request in seconds", low=1, high=86_400)
    trust_pickle: bool = _setting(False, PICKLES, "load a local pickle file, which can run any code")

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
        """Raise InvalidInput listing each given setting that models of these kinds, such as ``HUB``, do not support."""
        problems = [
            Problem(f"{name} is only for {each.metadata['read_by']}", OPTION, f"'{spec}'", "omit it")
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
    ('an integer from 1 to 1,024', 'yes or no', 'a text')
    """
    each = SETTINGS[name]
    low, high = each.metadata["low"], each.metadata["high"]
    if low is None:
        return "yes or no" if each.type is bool else "a text"
    return f"an integer from {low}" + (f" to {high:,}" if high else " up")


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
            problems.append(Problem("this is not a valid setting", OPTION, f"'{pair}'", "write it as NAME=VALUE"))
        elif name not in SETTINGS:
            cure = f"the settings are {', '.join(SETTINGS)}"
            problems.append(Problem("models have no such setting", OPTION, f"'{name}'", cure))
        elif name in values:
            problems.append(Problem("a setting is set twice", OPTION, f"'{name}'", "omit one of them"))
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
    return Problem(f"{name} must be {setting_values(name)}", OPTION, f"'{text}'", f"write {OPTION} {name}=VALUE")


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
