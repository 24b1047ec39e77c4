"""Zero-shot and few-shot prompting of a large language model, by the protocol of DR or of BOSS; every kind of task.

The model runs on any OpenAI-compatible server or, with ``--local``, on this machine. Demonstrations are drawn from a
source's train rows for each test row anew. Leaves out: any choice of prompt or demonstrations by their scores.
What differs from the papers: the wording (``baselines.prompting.instructions``), the 256 tokens of a demonstration,
counted in words, and what cannot be parsed, which is wrong here and left BOSS's denominator.

    shiftbench train prompt-llm nli --data build/dr --out llm.parquet --model NAME --base-url http://localhost:8000/v1
"""

from typing import Annotated

import typer

from baselines.program import Data, Out, Seeds, Sources, Targets, TaskName, check_out_path, make_card, write_outputs
from baselines.prompting.asking import Asker, Budget, Prices
from baselines.prompting.cache import AnswerStore
from baselines.prompting.demonstrations import random_demonstrations
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
    ProtocolOption,
    Subset,
    open_model,
)
from baselines.prompting.run import chosen_subset, print_account, prompt_and_predict
from baselines.prompting.task_prompt import TaskPrompt
from builders.cache import check_cache
from builders.folder.reader import DatasetFolder

Shots = Annotated[
    int | None,
    typer.Option(
        "--shots",
        metavar="N",
        help="Demonstrations a prompt; 0: none, no source. Default: DR 4; BOSS one a label, entities 7, questions 1.",
        min=0,
        max=1000,
    ),
]


def main(
    task: TaskName,
    data: Data,
    out: Out,
    model: ModelName,
    base_url: BaseUrl = None,
    local: Local = False,
    shots: Shots = None,
    protocol: ProtocolOption = None,
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
    """Prompt a large language model, without demonstrations or with some from each source.

    Example: shiftbench train prompt-llm nli --data build/dr --out llm.parquet --model NAME --shots 4
    """
    check_out_path(out)
    check_cache()
    folder = DatasetFolder.open(data)
    prompt = TaskPrompt.of(folder, task, protocol, instruction, max_tokens)
    n_shots = prompt.default_shots if shots is None else shots
    llm = open_model(
        model, local=local, base_url=base_url, api_key_env=api_key_env, concurrency=concurrency, parameters=param
    )
    rows = chosen_subset(folder, task, subset)
    with AnswerStore() as store:
        asker = Asker(llm, store, Prices(price_in, price_out), Budget(max_requests, max_cost))
        predictions = prompt_and_predict(
            asker,
            prompt,
            random_demonstrations(n_shots) if n_shots else None,
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
        libraries=["torch", "transformers"] if local else ["openai"],
        name=f"{model}, {n_shots} shots ({prompt.protocol})" if n_shots else f"{model}, zero-shot ({prompt.protocol})",
        base_model=model,
        parameters=llm.parameters if isinstance(llm, LocalModel) else None,
        paradigm="few-shot" if n_shots else "zero-shot",
        shots=n_shots,
        tokens=sum(asker.tokens) if asker.tokens else None,
        cost_usd=asker.cost,
        subset=rows,
    )
    write_outputs(predictions, card, out)


if __name__ == "__main__":
    typer.run(main)
