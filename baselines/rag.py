"""RAG, a baseline of the Depth F1 paper (appendix B): the source texts nearest to a test text are its demonstrations.

The three train texts of the source with the highest cosine to the test text, by sentence embeddings, are shown with
their labels, the nearest last, and a large language model labels the test text; nothing is trained. The paper
publishes neither prompt nor parsing: here both are those of ``prompt-llm`` with the protocol ``dr``, so a label is the
first one mentioned. Tagging, questions and generation work in the same way. Leaves out: labels in the choice of
demonstrations, all of which may have the same.

    shiftbench train rag nli --data build/dr --out rag.parquet --model NAME --base-url http://localhost:8000/v1
"""

from collections.abc import Sequence
from typing import Annotated

import polars as pl
import typer

from baselines.program import Data, Out, Seeds, Sources, Targets, TaskName, check_out_path, make_card, write_outputs
from baselines.prompting.asking import Asker, Budget, Prices
from baselines.prompting.cache import AnswerStore
from baselines.prompting.demonstrations import Choose, require_rows
from baselines.prompting.local import LocalModel
from baselines.prompting.options import (
    API_KEY_ENV,
    CONCURRENCY,
    ApiKeyEnv,
    BaseUrl,
    Concurrency,
    Instruction,
    Local,
    MaxCost,
    MaxRequests,
    MaxTokens,
    ModelName,
    Parameters,
    PriceIn,
    PriceOut,
    Subset,
    open_model,
)
from baselines.prompting.run import chosen_subset, print_account, prompt_and_predict
from baselines.prompting.task_prompt import Protocol, TaskPrompt
from baselines.robust.in_context import nearest
from baselines.sbert_lr import EncoderName
from builders.cache import check_cache
from builders.encoder import DEFAULT_ENCODER, Encoder, encoder_texts
from builders.folder.reader import DatasetFolder

Shots = Annotated[
    int, typer.Option("--shots", metavar="N", help="Nearest source texts that are shown.", min=1, max=1000)
]


def nearest_demonstrations(encoder: Encoder, inputs: tuple[str, ...], shots: int) -> Choose:
    """Choose the train rows whose texts are nearest by cosine, the nearest last; the seed does not matter."""

    def choose(train: pl.DataFrame, rows: pl.DataFrame, seed: int) -> Sequence[Sequence[int]]:
        require_rows(train, shots)
        sources = encoder.encode(encoder_texts(train, inputs))  # (S, d)
        texts = encoder.encode(encoder_texts(rows, inputs))  # (T, d)
        return nearest(texts, sources, shots)

    return choose


def main(
    task: TaskName,
    data: Data,
    out: Out,
    model: ModelName,
    base_url: BaseUrl = None,
    local: Local = False,
    shots: Shots = 3,
    encoder: EncoderName = DEFAULT_ENCODER,
    instruction: Instruction = None,
    source: Sources = None,
    target: Targets = None,
    seed: Seeds = None,
    subset: Subset = None,
    api_key_env: ApiKeyEnv = API_KEY_ENV,
    concurrency: Concurrency = CONCURRENCY,
    param: Parameters = None,
    max_tokens: MaxTokens = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    max_requests: MaxRequests = None,
    max_cost: MaxCost = None,
) -> None:
    """Prompt a large language model with the source texts that are nearest to each test text.

    Example: shiftbench train rag nli --data build/dr --out rag.parquet --model NAME
    """
    check_out_path(out)
    check_cache()
    folder = DatasetFolder.open(data)
    prompt = TaskPrompt.of(folder, task, Protocol.DR, instruction, max_tokens)
    llm = open_model(
        model, local=local, base_url=base_url, api_key_env=api_key_env, concurrency=concurrency, parameters=param
    )
    rows = chosen_subset(folder, task, subset)
    with AnswerStore() as store:
        asker = Asker(llm, store, Prices(price_in, price_out), Budget(max_requests, max_cost))
        predictions = prompt_and_predict(
            asker,
            prompt,
            nearest_demonstrations(Encoder(encoder), folder.task(task).inputs, shots),
            folder,
            task,
            sources=source,
            targets=target,
            seeds=seed,
            subset=rows,
        )
    print_account(asker, predictions)
    card = make_card(
        folder,
        libraries=["sentence-transformers", *(["torch", "transformers"] if local else ["openai"])],
        name=f"RAG: {model}, {shots} nearest texts",
        base_model=model,
        parameters=llm.parameters if isinstance(llm, LocalModel) else None,
        paradigm="retrieval",
        shots=shots,
        tokens=sum(asker.tokens) if asker.tokens else None,
        cost_usd=asker.cost,
        subset=rows,
    )
    write_outputs(predictions, card, out)


if __name__ == "__main__":
    typer.run(main)
