"""RAG, a baseline of the Depth F1 paper (appendix B): the source texts nearest to a test text are its demonstrations.

The three train texts of the source with the highest cosine to the test text, by sentence embeddings, are shown with
their labels, the nearest last, and a large language model labels the test text; nothing is trained. The paper
publishes neither prompt nor parsing: here both are those of ``prompt-llm`` with the protocol ``dr``, so a label is the
first one mentioned. Tagging, questions and generation work in the same way. Leaves out: labels in the choice of
demonstrations, all of which may have the same.

    shiftbench train rag nli --data build/dr --out rag.parquet --model NAME --base-url http://localhost:8000/v1
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import polars as pl
import typer

from shiftbench.baselines.program import run_alone, with_options
from shiftbench.baselines.prompting.demonstrations import ChooseDemonstrations, require_rows
from shiftbench.baselines.prompting.options import PromptingOptions
from shiftbench.baselines.prompting.program import PromptingProgram
from shiftbench.baselines.prompting.task_prompt import PromptProtocol
from shiftbench.baselines.robust.in_context import find_nearest
from shiftbench.baselines.sbert_lr import EncoderName
from shiftbench.builders.encoder import DEFAULT_ENCODER, Encoder, encoder_texts, require_encoder


@dataclass(frozen=True)
class RetrievalOptions(PromptingOptions):
    """The options of a program that prompts, and those of retrieval."""

    shots: Annotated[
        int, typer.Option("--shots", metavar="N", help="Nearest source texts that are shown.", min=1, max=1000)
    ] = 3
    encoder: EncoderName = DEFAULT_ENCODER


def nearest_demonstrations(encoder: Encoder, inputs: tuple[str, ...], shots: int) -> ChooseDemonstrations:
    """Choose the train rows whose texts are nearest by cosine, the nearest last; the seed does not matter."""

    def choose(train: pl.DataFrame, rows: pl.DataFrame, seed: int) -> Sequence[Sequence[int]]:
        require_rows(train, shots)
        sources = encoder.encode(encoder_texts(train, inputs))  # (S, d)
        texts = encoder.encode(encoder_texts(rows, inputs))  # (T, d)
        return find_nearest(texts, sources, shots)

    return choose


@with_options
def main(options: RetrievalOptions) -> None:
    """Prompt a language model with the nearest examples.

    For each test text these are the source texts that are most like it.

    Example: shiftbench train rag nli --data build/dr --out rag.parquet --model NAME
    """
    require_encoder(options.encoder)
    program = PromptingProgram.of(options, PromptProtocol.DR)
    program.check_draws()
    inputs = program.folder.task(options.task).inputs
    program.ask_and_write(
        nearest_demonstrations(Encoder(options.encoder), inputs, options.shots),
        libraries=["sentence-transformers"],
        name=f"RAG: {options.model_name}, {options.shots} nearest texts",
        paradigm="retrieval",
        shots=options.shots,
    )


if __name__ == "__main__":
    run_alone(main)
