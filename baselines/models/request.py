"""What a model is loaded for, and how."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shiftbench.validation.vocabulary import TaskKind

if TYPE_CHECKING:
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt


@dataclass(frozen=True)
class LoadRequest:
    """What a model is loaded for, and how: the arguments of ``load_model``."""

    spec: str
    kind: TaskKind
    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    label_map: Mapping[str, str] = field(default_factory=dict)
    trust_pickle: bool = False
    served_model: str | None = None
    revision: str | None = None
    max_length: int | None = None
    max_target: int | None = None
    form: str | None = None
    may_abstain: bool = False
    prompt: "TaskPrompt | None" = None
    instruction: str | None = None
    api_key_env: str | None = None
    concurrency: int = 8
