"""Options of commands that accept any model. Light to import, so that ``--help`` is fast."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.baselines.models.settings import OPTION, SETTINGS, parse_model_args
from shiftbench.validation.command_line import MODEL, LabelMap

if TYPE_CHECKING:
    from shiftbench.baselines.models.loaded import LoadedModel
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt
    from shiftbench.builders.folder.manifest import TaskInfo

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A Hub id or folder, 'module:callable' that accepts a list of texts, a .skops file, a pickle "
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
            "--model", "--served-model", metavar="NAME", help="The model's name if MODEL is a server's URL.",
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
        """Load a model with these options.

        Args:
            spec: the model, as for ``load_model``.
            task: the task that it is to predict.
            prompt: how rows are formatted for a served model; None: a general prompt for the kind of task.
        Raises: InvalidInput as ``load_model``.
        """
        from shiftbench.baselines.models.loading import load_model

        return load_model(
            spec, kind=task.kind, inputs=task.inputs, labels=task.labels, label_map=self.labels,
            served_model=self.served_model, prompt=prompt, settings=self.settings,
        )  # fmt: skip
