"""RAG, a baseline of the Depth F1 paper (appendix B): prompting with the source texts most similar to the test text.

The three training texts of the source with the highest cosine similarity to the test text (sentence embeddings) are
shown with their labels, the most similar last, and a large language model labels the test text. Nothing is trained. The
paper publishes neither prompt nor parsing: both are those of ``prompt-llm`` with the protocol ``dr``, so the predicted
label is the first one mentioned. Tagging, questions and generation work in the same way. Labels do not influence the
choice of demonstrations, which may all have the same one.

    shiftbench train rag nli --data build/dr --out rag.parquet --model NAME --base-url http://localhost:8000/v1
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from shiftbench.baselines.program import run_alone, with_options
from shiftbench.baselines.prompting.demonstrations import ChooseDemonstrations, require_rows
from shiftbench.baselines.prompting.options import PromptingOptions
from shiftbench.baselines.prompting.program import PromptingProgram
from shiftbench.baselines.prompting.task_prompt import PromptProtocol
from shiftbench.baselines.robust.in_context import find_nearest
from shiftbench.baselines.sbert_lr import EncoderName
from shiftbench.builders.encoder import DEFAULT_ENCODER, Encoder, encoder_texts, require_encoder
from shiftbench.validation.command_line import option


@dataclass(frozen=True)
class RetrievalOptions(PromptingOptions):
    """Options of a prompting program, and those of retrieval."""

    shots: int = option(3, "Number of nearest source texts in the prompt.", metavar="N", min=1, max=1000)
    encoder: EncoderName = DEFAULT_ENCODER


def nearest_demonstrations(encoder: Encoder, inputs: tuple[str, ...], shots: int) -> ChooseDemonstrations:
    """Choose the training rows with the highest cosine similarity, the most similar last; the seed is ignored."""

    def choose(train: pl.DataFrame, rows: pl.DataFrame, seed: int) -> Sequence[Sequence[int]]:
        require_rows(train, shots)
        sources = encoder.encode(encoder_texts(train, inputs))  # (S, d)
        texts = encoder.encode(encoder_texts(rows, inputs))  # (T, d)
        return find_nearest(texts, sources, shots)

    return choose


@with_options
def main(options: RetrievalOptions) -> None:
    """Prompt a language model with the nearest examples.

    The examples for a test text are the most similar source texts.

    Example: shiftbench train rag nli --data build/dr --out rag.parquet --model NAME
    """
    require_encoder(options.encoder)
    program = PromptingProgram.of(options, PromptProtocol.DR)
    inputs = program.folder.task(options.task).inputs
    program.ask_and_write(
        nearest_demonstrations(Encoder(options.encoder), inputs, options.shots), libraries=["sentence-transformers"],
        name=f"RAG: {options.model_name}, {options.shots} nearest texts", paradigm="retrieval", shots=options.shots,
    )  # fmt: skip


if __name__ == "__main__":
    run_alone(main)
