"""The options of commands that take any model, and loading what they describe. Light, so that ``--help`` is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.validation.command_line import LabelMap, TrustPickle
from shiftbench.validation.vocabulary import TaskKind

if TYPE_CHECKING:
    from shiftbench.baselines.models.loaded import LoadedModel
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A Hub id or folder, 'module:callable', a .skops file, a pickle with --trust-pickle, or the URL of an "
        "OpenAI-compatible server with --model.",
    ),
]


@dataclass(frozen=True)
class ModelOptions:
    """How a model is loaded, as typed."""

    label_map: LabelMap = None
    trust_pickle: TrustPickle = False
    served_model: Annotated[
        str | None,
        typer.Option("--model", "--served-model", metavar="NAME", help="The model's name on the server that MODEL is."),
    ] = None
    revision: Annotated[
        str | None, typer.Option("--revision", metavar="REV", help="Commit, branch or tag of a Hub model.")
    ] = None
    max_length: Annotated[
        int | None,
        typer.Option(
            "--max-length",
            metavar="N",
            help="Most word pieces read of a text. Default: as many as the model can.",
            min=8,
        ),
    ] = None
    max_target: Annotated[
        int | None,
        typer.Option(
            "--max-target", metavar="N", help="Tokens of a written text. Default: 128; of an answer 20.", min=2
        ),
    ] = None
    form: Annotated[
        str | None,
        typer.Option("--form", metavar="TEXT", help="What an encoder-decoder reads, as 'summarize: {source_text}'."),
    ] = None
    may_abstain: Annotated[
        bool,
        typer.Option("--may-abstain", help="Let a question answering model say that there is no answer (SQuAD 2.0)."),
    ] = False
    instruction: Annotated[
        str | None,
        typer.Option(
            "--instruction",
            metavar="TEXT",
            help="Your own instruction to a served model; '{labels}' is replaced by the labels.",
        ),
    ] = None
    api_key_env: Annotated[
        str | None,
        typer.Option(
            "--api-key-env",
            metavar="VARIABLE",
            help="Environment variable with the server's key. Default: OPENAI_API_KEY, where it is set.",
        ),
    ] = None
    concurrency: Annotated[
        int,
        typer.Option("--concurrency", metavar="N", help="Requests sent to a server at the same time.", min=1, max=1024),
    ] = 8

    def load(
        self,
        spec: str,
        *,
        kind: TaskKind,
        inputs: Sequence[str],
        labels: Sequence[str],
        prompt: "TaskPrompt | None" = None,
    ) -> "LoadedModel":
        """Load the model that a spec names; see ``load_model``."""
        from shiftbench.baselines.models.labels import parse_label_map
        from shiftbench.baselines.models.loading import load_model

        return load_model(
            spec, kind=kind, inputs=inputs, labels=labels, prompt=prompt,
            label_map=parse_label_map(self.label_map or ()), trust_pickle=self.trust_pickle,
            served_model=self.served_model, revision=self.revision, max_length=self.max_length,
            max_target=self.max_target, form=self.form, may_abstain=self.may_abstain, instruction=self.instruction,
            api_key_env=self.api_key_env, concurrency=self.concurrency,
        )  # fmt: skip
