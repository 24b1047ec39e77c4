"""Speed of requests to a server, compared with a bare loop, and of label scoring, compared with one label at a time.

For ``python -m benchmarks prompt``. The server is a stub in a separate process that returns the same response to any
chat after 20 ms. The bare loop is ``asyncio`` with the package ``openai`` at the same concurrency, without checking,
counting or caching. The model for label scoring has random weights, so nothing is downloaded; its prompts share a
prefix of 60 tokens, like an instruction, followed by 30 to 120 of their own. The reference reads each prompt once per
label, and only the logits that it needs. Package and reference are timed alternately; ratios are of the medians shown.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from shiftbench.baselines.prompting.asking import Asker, Budget, Prices
from shiftbench.baselines.prompting.cache import AnswerStore
from shiftbench.baselines.prompting.models import Request
from shiftbench.baselines.prompting.options import NEAR_CONCURRENCY
from shiftbench.baselines.prompting.server import ModelServer
from shiftbench.validation.command_line import require
from shiftbench.validation.timing import Timing, compare_rates

N_REQUESTS, N_SCORED, ROUNDS = 2000, 64, 5
_VOCABULARY = 8000
_INSTRUCTION, _LEAST, _MOST = 60, 30, 120
"""Tokens of the common prefix, and of the rest of a prompt."""
_LABELS = ([11, 12], [21, 22, 23], [31, 32])
"""Token ids of the labels."""
_BATCH = 8
_STUB = """
import asyncio, json

message = {"role": "assistant", "content": "positive"}
usage = {"prompt_tokens": 150, "completion_tokens": 1, "total_tokens": 151}
choices = [{"index": 0, "finish_reason": "stop", "message": message}]
body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}
text = json.dumps(body)
head = f"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: {len(text)}\\r\\n\\r\\n"
answer = (head + text).encode()

async def converse(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\\r\\n\\r\\n")).lower().split(b"\\r\\n")
            await reader.readexactly(next(int(line[15:]) for line in head if line.startswith(b"content-length:")))
            await asyncio.sleep(0.02)
            writer.write(answer)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def run_prompt_bench(scale: float = 1.0) -> Iterator[Timing]:
    """Measure requests to a server, then label scoring.

    Args:
        scale: requests as a share of the full number; targets are evaluated only at 1 or more.
    Returns: an iterator of timings, as they are measured.
    Raises: InvalidInput if the extras 'llm' and 'train' are not installed.
    """
    require("openai", "llm")
    require("peft", "train")
    n, loop = (
        max(NEAR_CONCURRENCY, int(N_REQUESTS * scale)),
        f"a bare asyncio loop, {NEAR_CONCURRENCY} concurrent requests",
    )
    requests = [_request(place) for place in range(n)]
    with _stub_server() as url:
        asking: dict[str, Callable[[], float]] = {
            "": lambda: _rate(n, lambda: _ask(url, requests)),
            loop: lambda: _rate(n, lambda: asyncio.run(_ask_barely(url, requests))),
        }
        yield from compare_rates("requests to a server", "requests", {loop: 0.9}, scale, asking, ROUNDS)
    model, prompts = _model(), _prompts(max(_BATCH, int(N_SCORED * scale)), np.random.default_rng(0))
    apart = "a separate prompt per label"
    scoring: dict[str, Callable[[], float]] = {
        "": lambda: _rate(len(prompts), lambda: score_together(model, prompts)),
        apart: lambda: _rate(len(prompts), lambda: score_apart(model, prompts)),
    }
    yield from compare_rates("scoring 3 labels", "prompts", {apart: 3.0}, scale, scoring, ROUNDS)


def _rate(n: int, work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return n / (time.perf_counter() - start)


@contextmanager
def _stub_server() -> Iterator[str]:
    """Start the stub on a free loopback port; yields its URL."""
    with subprocess.Popen([sys.executable, "-c", _STUB], stdout=subprocess.PIPE, text=True) as stub:
        try:
            assert stub.stdout is not None
            yield f"http://127.0.0.1:{int(stub.stdout.readline())}/v1"
        finally:
            stub.terminate()


def _request(place: int) -> Request:
    text = f"Text {place}: " + "the boat came in late " * 25
    return Request(({"role": "system", "content": "Positive or negative?"}, {"role": "user", "content": text}), 8)


def _ask(url: str, requests: Sequence[Request]) -> None:
    """Send requests with the code of ``prompt-llm``, with an empty cache."""
    server = ModelServer("m", base_url=url, api_key="none", concurrency=NEAR_CONCURRENCY)
    bar: tqdm[Any]
    with (
        tempfile.TemporaryDirectory() as folder,
        AnswerStore(Path(folder)) as store,
        tqdm(total=len(requests), disable=True) as bar,
    ):
        Asker(server, store, Prices(), Budget()).ask(requests, bar)


async def _ask_barely(url: str, requests: Sequence[Request]) -> list[str | None]:
    from openai import AsyncOpenAI

    answers: list[str | None] = [None] * len(requests)
    waiting = iter(enumerate(requests))

    async def work() -> None:
        for place, request in waiting:
            messages: Any = list(request.messages)
            completion = await client.chat.completions.create(model="m", messages=messages, temperature=0, max_tokens=8)
            answers[place] = completion.choices[0].message.content

    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        await asyncio.gather(*[work() for _ in range(NEAR_CONCURRENCY)])
    return answers


def _model() -> Any:
    """Build a decoder with 19 million random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from shiftbench.baselines.training.models import seeded

    config = LlamaConfig(
        vocab_size=_VOCABULARY, hidden_size=384, intermediate_size=1024, num_hidden_layers=8, num_attention_heads=6,
        num_key_value_heads=2, max_position_embeddings=512,
    )  # fmt: skip
    with seeded(0):
        return LlamaForCausalLM(config).eval()  # type: ignore[no-untyped-call]


def _prompts(n: int, rng: np.random.Generator) -> list[list[int]]:
    """Generate prompts with a common prefix, long ones first."""
    start = rng.integers(100, _VOCABULARY, _INSTRUCTION).tolist()
    prompts = [[*start, *rng.integers(100, _VOCABULARY, size).tolist()] for size in rng.integers(_LEAST, _MOST, n)]
    return sorted(prompts, key=len, reverse=True)


def score_together(model: Any, prompts: Sequence[Sequence[int]]) -> list[list[float]]:
    """Score labels with the code of ``--local --score-labels``."""
    from shiftbench.baselines.prompting.label_scores import score_labels

    return [scores for batch in score_labels(model, prompts, _LABELS, _BATCH) for scores in batch]


def score_apart(model: Any, prompts: Sequence[Sequence[int]]) -> list[list[float]]:
    """Score each label in a separate prompt, in batches of the same size."""
    import torch

    rows = [([*prompt, *label], len(label)) for prompt in prompts for label in _LABELS]
    label_log_p = []
    for first in range(0, len(rows), _BATCH):
        batch = rows[first : first + _BATCH]
        width, longest = max(len(row) for row, _ in batch), max(length for _, length in batch)
        ids = torch.tensor([[0] * (width - len(row)) + row for row, _ in batch])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row, _ in batch])
        places = (mask.cumsum(dim=1) - 1).clamp(min=0)
        with torch.inference_mode():
            logits = model(input_ids=ids, attention_mask=mask, position_ids=places, logits_to_keep=longest + 1).logits
        for (row, length), of_row in zip(batch, logits, strict=True):
            log_p = of_row[-length - 1 : -1].log_softmax(dim=-1)
            label_log_p.append(float(log_p.gather(-1, torch.tensor(row[-length:]).unsqueeze(-1)).sum()))
    return np.array(label_log_p).reshape(len(prompts), len(_LABELS)).tolist()
