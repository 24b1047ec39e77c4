"""Responses of the servers that the field uses, in the form that each one's documentation gives.

Sources: vLLM "OpenAI-Compatible Server" and "Reasoning Outputs", llama.cpp "tools/server/README.md", OpenAI "API
reference: the chat completion object", Anthropic "OpenAI SDK compatibility", OpenRouter "Errors". Texts and numbers are
invented.
"""

import json
from typing import Any

import pytest

from shiftbench.baselines.prompting.models import Ending, ModelAnswer, Request
from shiftbench.baselines.prompting.parsing import usable_text
from shiftbench.baselines.prompting.scored_labels import LabelScores
from shiftbench.baselines.prompting.wire import Api, NoAnswerError, UnscoredError, read_answer

ASKED = Request(({"role": "user", "content": "Text: it broke"},), 9, ("negative", "positive"))


def openai(content: str | None, reason: str = "stop", refusal: str | None = None, logprobs: Any = None) -> Any:
    message = {"role": "assistant", "content": content, "refusal": refusal, "annotations": []}
    choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": reason}
    details = {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0}
    usage = {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29, "completion_tokens_details": details}
    head = {"id": "chatcmpl-B9", "object": "chat.completion", "created": 1741569952, "model": "gpt-x-2026-01-01"}
    return {**head, "choices": [choice], "usage": usage, "service_tier": "default", "system_fingerprint": "fp_1"}


def vllm(content: str | None, reason: str = "stop", reasoning: str | None = None) -> Any:
    message = {
        "role": "assistant", "content": content, "refusal": None, "annotations": None, "audio": None,
        "function_call": None, "tool_calls": [], "reasoning": reasoning, "reasoning_content": reasoning,
    }  # fmt: skip
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason, "stop_reason": None,
              "token_ids": None}  # fmt: skip
    usage = {"prompt_tokens": 19, "total_tokens": 29, "completion_tokens": 10, "prompt_tokens_details": None}
    head = {"id": "chatcmpl-7", "object": "chat.completion", "created": 1741569952, "model": "Qwen/Qwen3-8B"}
    return {**head, "choices": [choice], "service_tier": None, "usage": usage, "prompt_logprobs": None,
            "kv_transfer_params": None}  # fmt: skip


def llama_cpp(content: str, reason: str = "stop", **message: Any) -> Any:
    choice = {"finish_reason": reason, "index": 0, "message": {"role": "assistant", "content": content, **message}}
    timings = {"prompt_n": 19, "prompt_ms": 53.7, "predicted_n": 10, "predicted_ms": 201.2}
    return {
        "choices": [choice], "created": 1741569952, "model": "gpt-3.5-turbo", "system_fingerprint": "b6210-a094f381",
        "object": "chat.completion", "usage": {"completion_tokens": 10, "prompt_tokens": 19, "total_tokens": 29},
        "id": "chatcmpl-D", "timings": timings,
    }  # fmt: skip


def anthropic(content: str, reason: str = "stop") -> Any:
    choice = {"finish_reason": reason, "index": 0, "message": {"role": "assistant", "content": content}}
    usage = {"completion_tokens": 10, "prompt_tokens": 19, "total_tokens": 29}
    head = {"id": "msg_016", "object": "chat.completion", "created": 1741569952, "model": "claude-x"}
    return {**head, "choices": [choice], "usage": usage}


def read(body: Any, *, scores: bool = False, api: Api = Api.CHAT) -> ModelAnswer:
    return read_answer(body if isinstance(body, str) else json.dumps(body), ASKED, api, scores_labels=scores)


@pytest.mark.parametrize("server", [openai, vllm, llama_cpp, anthropic])
def test_an_answer_and_its_tokens(server: Any) -> None:
    assert read(server("Negative.")) == ModelAnswer("Negative.", 19, 10)


@pytest.mark.parametrize(
    ("server", "word"),
    [(openai, "length"), (vllm, "length"), (llama_cpp, "length"), (anthropic, "length"), (anthropic, "max_tokens")],
)
def test_an_answer_that_was_cut(server: Any, word: str) -> None:
    assert read(server("The label is", word)).ending is Ending.TRUNCATED


def test_reasoning_that_the_server_takes_out_is_not_the_answer() -> None:
    assert read(vllm("negative", reasoning="It may be positive")).text == "negative"
    assert read(llama_cpp("negative", reasoning_content="It may be positive")).text == "negative"
    cut = read(vllm(None, "length", reasoning="It may be positive"))
    assert cut == ModelAnswer("", 19, 10, Ending.TRUNCATED)  # cut within its reasoning, not an empty answer


def test_reasoning_that_the_server_leaves_in_is_taken_out_here() -> None:
    inside = "<|channel|>analysis<|message|>positive?<|end|><|start|>assistant<|channel|>final<|message|>negative"
    assert usable_text(read(llama_cpp(inside)).text or "") == "negative"  # --reasoning-format none
    assert usable_text(read(vllm("positive?\n</think>\n\nnegative")).text or "") == "negative"


def test_parts_of_a_message() -> None:
    """Mistral's form of Magistral's answers."""
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "positive?"}]},
        {"type": "text", "text": "negative"},
    ]
    assert read(openai(parts)).text == "negative"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body",
    [
        openai(None, refusal="I'm sorry, I cannot help with that."),
        openai("", "content_filter"),
        openai(None, "content_filter"),
        anthropic("", "content_filter"),
        anthropic("", "refusal"),
    ],
    ids=["openai", "azure", "azure-null", "anthropic", "anthropic-word"],
)
def test_a_refusal_is_no_answer_that_could_not_be_read(body: Any) -> None:
    assert read(body).ending is Ending.REFUSED
    assert read(body, scores=True).ending is Ending.REFUSED


OVERLOADED = {"error": {"code": 502, "message": "Provider returned error", "metadata": {"provider_name": "x"}}}
FAILED = {
    "openrouter": OVERLOADED,
    "openrouter-choice": openai("", "error") | {"error": OVERLOADED["error"]},
    "openrouter-in-choice": {"choices": [{**OVERLOADED, "message": {"role": "assistant", "content": ""}}]},
    "vllm-aborted": vllm("", "abort"),
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "llama.cpp": {"error": {"code": 500, "message": "slot unavailable", "type": "server_error"}},
    "no-choices": openai("x") | {"choices": []},
    "null-choices": openai("x") | {"choices": None},
    "cut": json.dumps(openai("negative"))[:60],
    "html": "<html>Bad gateway</html>",
    "empty": "",
}  # fmt: skip


@pytest.mark.parametrize("body", FAILED.values(), ids=FAILED.keys())
def test_a_response_of_status_200_that_holds_no_answer_is_a_failed_try(body: Any) -> None:
    with pytest.raises(NoAnswerError) as failed:
        read(body)
    is_counted = isinstance(body, dict) and "usage" in body
    assert failed.value.tokens == ((19, 10) if is_counted else (0, 0))


def test_listed_tokens() -> None:
    """OpenAI and vLLM give bytes, llama.cpp gives ids: neither is read."""
    top = [{"token": "neg", "logprob": -0.1, "bytes": [110, 101, 103]}, {"token": "pos", "logprob": -3, "id": 978}]
    content = [{"token": "neg", "logprob": -0.1, "bytes": [110], "top_logprobs": top}]
    for body in (openai("neg", "length", logprobs={"content": content, "refusal": None}), llama_cpp("neg", "length")):
        body["choices"][0]["logprobs"] = {"content": content}
        answer = read(body, scores=True)
        assert LabelScores.from_text(answer.text or "").log_p == pytest.approx((-0.1, -3.0))
        assert answer.ending is Ending.COMPLETE  # it was asked for no more than this


def test_a_server_that_lists_no_tokens_is_told() -> None:
    """Anthropic's servers ignore logprobs; OpenAI's lists are empty for reasoning models."""
    for body in (anthropic("negative"), openai("negative", logprobs={"content": [], "refusal": None})):
        with pytest.raises(UnscoredError):
            read(body, scores=True)


def test_completions() -> None:
    """vLLM gives prompt and answer back (echo), each prompt with its own list."""
    logprobs = [
        {
            "text_offset": [0, 4],
            "tokens": ["Text", f" {label}"],
            "token_logprobs": [None, p],
            "top_logprobs": [None, {}],
        }
        for label, p in (("negative", -0.5), ("positive", -2.0))
    ]
    choices = [
        {"index": place, "text": "Text", "logprobs": each, "finish_reason": "length", "stop_reason": None}
        for place, each in enumerate(logprobs)
    ]
    body = openai(None) | {"object": "text_completion", "choices": choices}
    answer = read(body, scores=True, api=Api.COMPLETIONS)
    assert LabelScores.from_text(answer.text or "") == LabelScores((-0.5, -2.0))
    plain = openai(None) | {"choices": [{"index": 0, "text": " negative", "finish_reason": "length"}]}
    assert read(plain, api=Api.COMPLETIONS) == ModelAnswer(" negative", 19, 10, Ending.TRUNCATED)
