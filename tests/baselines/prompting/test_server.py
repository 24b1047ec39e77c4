"""What the client does with every kind of answer and failure of a server."""

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.responses import JSONResponse, Response

from shiftbench.baselines.prompting.models import Ending, ModelAnswer, Request
from shiftbench.baselines.prompting.server import MOST_PAUSES, MOST_UNANSWERED, TRIES, ModelServer
from shiftbench.validation.report import InvalidInput

from .chat_server import ChatServer, completion, refusal


def requests(n: int) -> list[Request]:
    return [Request(({"role": "user", "content": f"text {number}"},), 16) for number in range(n)]


def client(server: ChatServer, **options: Any) -> ModelServer:
    return ModelServer("m", **{"base_url": server.url, "api_key": "k", "first_wait": 0.01, **options})


def ask(model: ModelServer, n: int) -> dict[int, ModelAnswer]:
    answers: dict[int, ModelAnswer] = {}

    def keep(place: int, answer: ModelAnswer) -> None:
        assert place not in answers
        answers[place] = answer

    try:
        model.answer(requests(n), keep)
    except InvalidInput as error:
        error.answers = answers  # type: ignore[attr-defined]
        raise
    return answers


def first(times: int, bad: Response, then: str = "positive") -> Callable[[dict[str, Any]], str | Response]:
    """Return a bad response the first times, then a good answer."""
    count = itertools.count()
    return lambda _: bad if next(count) < times else then


def test_each_answer_comes_back_to_its_request_with_its_tokens(server: ChatServer) -> None:
    server.reply = lambda body: f"about {body['messages'][-1]['content']}"
    answers = ask(client(server), 20)
    assert answers == {number: ModelAnswer(f"about text {number}", 10, 2) for number in range(20)}
    message = {"role": "user", "content": "text 7"}
    assert {"model": "m", "messages": [message], "temperature": 0.0, "max_tokens": 16} in server.asked
    assert server.authorizations == {"Bearer k"}


def test_parameters_replace_defaults_and_null_leaves_them_out(server: ChatServer) -> None:
    model = client(server, parameters={"temperature": None, "max_tokens": None, "max_completion_tokens": 9})
    ask(model, 1)
    assert server.asked[0].keys() == {"model", "messages", "max_completion_tokens"}
    assert model.identity(requests(1)[0])["max_completion_tokens"] == 9


def test_no_more_requests_are_under_way_than_asked_for(server: ChatServer) -> None:
    server.delay = 0.02
    ask(client(server, concurrency=3), 12)
    assert server.most_under_way == 3
    assert len(server.asked) == 12


def test_a_limit_lets_all_requests_wait_as_long_as_the_server_says(server: ChatServer) -> None:
    server.delay = 0.01
    count, limit = itertools.count(), refusal(429, Retry_After="0.6")
    server.reply = lambda _: limit if next(count) == 4 else "positive"
    assert len(ask(client(server, concurrency=2), 12)) == 12
    assert len(server.asked) == 13
    gaps = [after - before for before, after in itertools.pairwise(server.times)]
    # During the pause no request was sent but the one already under way.
    assert sum(gap > 0.5 for gap in gaps) == 1
    assert max(gaps) < 2


def test_a_limit_without_a_time_is_waited_for_longer_and_longer(server: ChatServer) -> None:
    server.reply = first(4, refusal(429))
    assert len(ask(client(server, concurrency=1, first_wait=0.05), 3)) == 3
    gaps = [after - before for before, after in itertools.pairwise(server.times)]
    assert all(gap > least for gap, least in zip(gaps, (0.024, 0.05, 0.1, 0.2), strict=False))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (refusal(429, "slow down"), "the server's rate limit is reached"),
        (refusal(429, Retry_After="86400"), "asked to wait 86,400 s"),
        (refusal(429, "pay first", code="insufficient_quota"), "the server rejects the request"),
    ],
    ids=["for-ever", "for-a-day", "no-money"],
)
def test_a_limit_that_does_not_pass_ends_with_what_to_do(bad: Response, words: str, server: ChatServer) -> None:
    count = itertools.count()
    server.reply = lambda _: "positive" if next(count) < 5 else bad
    with pytest.raises(InvalidInput, match=words) as refused:
        ask(client(server, concurrency=1, first_wait=0.001), 20)
    assert "cached" in str(refused.value)
    assert refused.value.answers.keys() == set(range(5))  # type: ignore[attr-defined]
    assert len(server.asked) <= 5 + MOST_PAUSES + 1


def test_requests_refused_together_count_as_one_refusal(server: ChatServer) -> None:
    server.delay = 0.02
    server.reply = first(2 * 16, refusal(429))
    assert len(ask(client(server, concurrency=16), 16)) == 16


@pytest.mark.parametrize("status", [500, 502, 503, 408])
def test_what_passes_is_tried_again(status: int, server: ChatServer) -> None:
    server.reply = first(TRIES - 1, refusal(status))
    assert ask(client(server), 1)[0].text == "positive"
    assert len(server.asked) == TRIES


def test_a_server_that_keeps_failing_ends_the_work_and_what_came_is_kept(server: ChatServer) -> None:
    server.reply = lambda body: refusal(500, "broken") if body["messages"][-1]["content"] == "text 3" else "positive"
    with pytest.raises(InvalidInput, match=rf"broken.* \({TRIES} tries\)") as refused:
        ask(client(server, concurrency=1), 10)
    assert refused.value.answers.keys() == {0, 1, 2}  # type: ignore[attr-defined]


def test_requests_under_way_when_another_fails_are_kept(server: ChatServer) -> None:
    server.delay = 0.1
    server.reply = lambda body: refusal(404, "no such model") if body["messages"][-1]["content"] == "text 0" else "yes"
    with pytest.raises(InvalidInput, match=r"--model .*--base-url") as refused:
        ask(client(server, concurrency=4), 50)
    answers = refused.value.answers  # type: ignore[attr-defined]
    # A worker that was answered before the refusal came has sent one more request.
    assert {1, 2, 3} <= answers.keys()
    assert len(server.asked) == len(answers) + 1 <= 8


def test_a_slow_answer_is_asked_for_again(server: ChatServer) -> None:
    server.delay = 0.5
    started = time.monotonic()
    with pytest.raises(InvalidInput, match="timed"):
        ask(client(server, timeout=0.1), 1)
    assert time.monotonic() - started < 5
    assert len(server.asked) == TRIES


def test_no_server_at_all() -> None:
    model = ModelServer("m", base_url="http://127.0.0.1:9/v1", api_key="k", first_wait=0.001)
    with pytest.raises(InvalidInput, match=r"http://127.0.0.1:9/v1: .* Connection"):
        ask(model, 3)


@pytest.mark.parametrize("status", [401, 403, 404, 422])
def test_a_refusal_for_good_is_not_repeated(status: int, server: ChatServer) -> None:
    server.reply = lambda _: refusal(status, "forbidden")
    with pytest.raises(InvalidInput, match="forbidden"):
        ask(client(server, concurrency=1), 5)
    assert len(server.asked) == 1


def test_a_text_that_the_model_cannot_read_is_an_empty_answer(server: ChatServer) -> None:
    long = refusal(400, "This model's maximum context length is 8192 tokens", code="context_length_exceeded")
    server.reply = lambda body: long if body["messages"][-1]["content"] == "text 1" else "positive"
    assert ask(client(server), 3)[1] == ModelAnswer("", 0, 0, Ending.TOO_LONG)
    assert len(server.asked) == 3


def test_a_text_that_a_filter_refuses_is_a_refusal(server: ChatServer) -> None:
    filtered = refusal(400, "The response was filtered by the content management policy", code="content_filter")
    server.reply = lambda body: filtered if body["messages"][-1]["content"] == "text 1" else "positive"
    assert ask(client(server), 3)[1] == ModelAnswer("", 0, 0, Ending.REFUSED)


NONSENSE: dict[str, Response] = {
    "html": Response("<html>sign in</html>", media_type="text/html"),
    "cut": Response('{"choices": [{"mess', media_type="application/json"),
    "no-choices": JSONResponse(completion("x") | {"choices": []}),
    "other-json": JSONResponse([1, 2]),
    "no-message": JSONResponse({"choices": [{"text": "x"}]}),
    "not-text": JSONResponse(completion({"a": 1})),
    "deep": Response("[" * 100_000, media_type="application/json"),
    "empty": Response(b"", media_type="application/json"),
    "bytes": Response(b"\xff\xfe\x00", media_type="application/json"),
}


NONSENSE |= {
    "error-object": JSONResponse({"error": {"message": "upstream is overloaded", "code": 502}}),
    "error-and-choices": JSONResponse(completion("") | {"error": {"message": "upstream is overloaded"}}),
    "error-in-a-choice": JSONResponse(
        completion("") | {"choices": [{"finish_reason": "error", "message": {"role": "assistant", "content": ""}}]}
    ),
}


@pytest.mark.parametrize("bad", NONSENSE.values(), ids=NONSENSE.keys())
def test_a_response_without_an_answer_is_a_failed_try(bad: Response, server: ChatServer) -> None:
    """Of 180 responses 20 hold none, as of a server that fails under load: no answer is lost."""
    count = itertools.count(1)
    server.reply = lambda _: bad if next(count) % 9 == 0 else "positive"
    answers = ask(client(server, first_wait=0.001), 160)
    assert {answer.text for answer in answers.values()} == {"positive"}
    assert len(answers) == 160
    assert len(server.asked) >= 178


def test_what_failed_tries_cost_is_counted(server: ChatServer) -> None:
    server.reply = first(2, NONSENSE["no-choices"])
    assert ask(client(server), 1)[0] == ModelAnswer("positive", 30, 6)
    server.reply = lambda _: NONSENSE["no-choices"]
    assert ask(client(server), 1)[0] == ModelAnswer(None, 10 * TRIES, 2 * TRIES)


@pytest.mark.parametrize("bad", NONSENSE.values(), ids=NONSENSE.keys())
def test_a_request_that_stays_without_an_answer_does_not_stop_the_others(bad: Response, server: ChatServer) -> None:
    server.reply = lambda body: bad if body["messages"][-1]["content"] == "text 1" else "positive"
    answers = ask(client(server, concurrency=1, first_wait=0.001), 3)
    assert {place: answer.text for place, answer in answers.items()} == {0: "positive", 1: None, 2: "positive"}
    assert len(server.asked) == 2 + TRIES


@pytest.mark.parametrize("bad", [NONSENSE["html"], NONSENSE["no-choices"]], ids=["html", "no-choices"])
def test_a_server_of_nonsense_is_not_asked_on(bad: Response, server: ChatServer) -> None:
    server.reply = lambda _: bad
    with pytest.raises(InvalidInput, match=r"5 requests .* 5 tries"):
        ask(client(server, concurrency=1, first_wait=0.001), 50)
    assert len(server.asked) == MOST_UNANSWERED * TRIES


@pytest.mark.parametrize(("content", "text"), [(None, ""), ("half a pair: \ud83d", "half a pair: ?")])
def test_odd_content(content: str | None, text: str, server: ChatServer) -> None:
    import json

    server.reply = lambda _: Response(json.dumps(completion(content)), media_type="application/json")
    assert ask(client(server), 1)[0].text == text


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": "many", "completion_tokens": 1}, [3]])
def test_tokens_that_are_not_told_are_not_known(usage: Any, server: ChatServer) -> None:
    server.reply = lambda _: JSONResponse(completion("yes", usage=usage))
    assert ask(client(server), 1)[0] == ModelAnswer("yes")


def test_asking_nothing(server: ChatServer) -> None:
    assert ask(client(server), 0) == {}
