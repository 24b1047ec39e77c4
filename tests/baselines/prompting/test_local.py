"""A local model: tiny, with random weights, so what it says is noise, but the same noise however it is asked."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.baselines.prompt_llm import main
from shiftbench.baselines.prompting.label_scores import score_labels
from shiftbench.baselines.prompting.local import LocalModel
from shiftbench.baselines.prompting.models import Ending, Message, ModelAnswer, Request
from shiftbench.baselines.prompting.scored_labels import LabelScores
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.cards import read_card
from shiftbench.validation.report import InvalidInput

TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'system' %}SYSTEM {% endif %}"
    "{{ message['content'] }} {% endfor %}{% if add_generation_prompt %}REPLY{% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system turn') }}{% endif %}" + TEMPLATE


def save_model(folder: Path, template: str | None = None, *, words: Sequence[str] = ()) -> Path:
    """Save a Llama of one layer, with a tokenizer of words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    vocabulary = ["<unk>", "</s>", "positive", "negative", "Answer", ":", "Text", "SYSTEM", "REPLY", *words]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(vocabulary)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", eos_token="</s>")
    fast.chat_template = template
    fast.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(vocabulary), hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=256, eos_token_id=1, bos_token_id=None, pad_token_id=None, initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(1)
        LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("plain"), words=[f"w{place}" for place in range(60)])


def requests(n: int) -> list[Request]:
    return [
        Request(({"role": "user", "content": " ".join(f"w{(place * 7 + word) % 60}" for word in range(place + 1))},), 6)
        for place in range(n)
    ]


def ask(model: LocalModel, asked: Sequence[Request]) -> list[ModelAnswer]:
    answers: dict[int, ModelAnswer] = {}
    model.answer(asked, answers.__setitem__)
    return [answers[place] for place in range(len(asked))]


def test_an_answer_hangs_on_neither_batch_nor_neighbours(plain: Path) -> None:
    asked = requests(11)
    alone = [ask(LocalModel(str(plain), batch=1), [request])[0] for request in asked[:4]]
    together = ask(LocalModel(str(plain), batch=4), asked)
    assert together[:4] == alone
    assert len({answer.text for answer in together}) > 3
    assert [answer.tokens_in for answer in together[:3]] == [3, 4, 5]
    assert all(0 <= (answer.tokens_out or 0) <= 6 for answer in together)


def test_each_answer_has_the_tokens_that_it_may_have(plain: Path) -> None:
    asked = [Request(request.messages, most) for request, most in zip(requests(3), (1, 5, 2), strict=True)]
    both = ask(LocalModel(str(plain)), [asked[0], Request(asked[0].messages, 6)])
    assert (both[1].text or "").startswith(both[0].text or "?")
    assert all(
        (answer.tokens_out or 0) <= most
        for answer, most in zip(ask(LocalModel(str(plain)), asked), (1, 5, 2), strict=True)
    )


def test_a_prompt_without_room_for_the_answer_is_not_asked(plain: Path) -> None:
    long = Request(({"role": "user", "content": "w1 " * 300},), 6)
    assert ask(LocalModel(str(plain)), [long, *requests(1)])[0] == ModelAnswer("", 0, 0, Ending.TOO_LONG)


@pytest.mark.parametrize(
    ("template", "prompt"),
    [
        (None, "Text w1\n\nText w2\nAnswer: positive\n\nText w3\nAnswer:"),
        (TEMPLATE, "SYSTEM Text w1 Text w2 positive Text w3 REPLY"),
        (NO_SYSTEM, "Text w1 Text w2 positive Text w3 REPLY"),
    ],
    ids=["plain", "chat", "no-system"],
)
def test_conversations_are_laid_out_as_the_model_knows_them(template: str | None, prompt: str, tmp_path: Path) -> None:
    model: Any = LocalModel(str(save_model(tmp_path, template, words=["w1", "w2", "w3"])))
    turns = [("system", "Text w1"), ("user", "Text w2"), ("assistant", "positive"), ("user", "Text w3")]
    tokens = model._tokens([{"role": role, "content": content} for role, content in turns])
    assert tokens == model._tokenizer(prompt)["input_ids"]
    assert 0 not in tokens


def test_other_files_are_another_model(plain: Path, tmp_path: Path) -> None:
    (request,) = requests(1)
    other = LocalModel(str(save_model(tmp_path, TEMPLATE))).identity(request)
    assert LocalModel(str(plain)).identity(request) == LocalModel(str(plain)).identity(request) != other
    json.dumps(other)


def test_another_precision_is_asked_anew(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (request,) = requests(1)
    here = LocalModel(str(plain)).identity(request)
    on_gpu = here["device"] == "cuda"
    monkeypatch.setattr("torch.cuda.is_available", lambda: not on_gpu)
    assert LocalModel(str(plain)).identity(request) != here


@pytest.mark.parametrize("instruction", ["w1", " ".join(f"w{place}" for place in range(20))])
@pytest.mark.parametrize("template", [None, TEMPLATE])
def test_labels_score_as_each_does_behind_its_own_prompt(
    template: str | None, instruction: str, tmp_path: Path
) -> None:
    """Prompts of several lengths, labels of one to three tokens; each pair once more through the whole model."""
    import torch

    folder = save_model(tmp_path, template, words=[f"w{place}" for place in range(60)])
    model: Any = LocalModel(str(folder), batch=3, scores_labels=True)
    labels = ("positive", "w3 negative", "w9 w8 w7")
    begins: Message = {"role": "system", "content": instruction}
    asked = [Request((begins, *request.messages), 6, labels) for request in requests(5)]
    for request, answer in zip(asked, ask(model, asked), strict=True):
        prompt = model._tokens(request.messages)
        expected = []
        for label in labels:
            tokens = model._tokenizer(label, add_special_tokens=False)["input_ids"]
            with torch.inference_mode():
                log_p = model._model(torch.tensor([prompt + tokens])).logits[0].log_softmax(dim=-1)
            expected.append(sum(float(log_p[len(prompt) - 1 + i, token]) for i, token in enumerate(tokens)))
        assert list(LabelScores.from_text(answer.text or "").log_p) == pytest.approx(expected, abs=1e-4)
        assert (answer.tokens_in, answer.tokens_out) == (len(prompt) + 6, 0)
    assert model.identity(asked[0]) != LocalModel(str(folder)).identity(asked[0])
    long = Request(({"role": "user", "content": "w1 " * 300},), 6, labels)
    assert ask(model, [long, asked[0], Request(asked[0].messages, 2)])[0] == ModelAnswer("", 0, 0, Ending.TOO_LONG)


@pytest.mark.parametrize("window", [None, 3])
def test_what_prompts_begin_with_is_read_once(window: int | None, tmp_path: Path) -> None:
    """The same scores as one prompt at a time; with a sliding window, which padding would shift, nothing is shared."""
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    config = MistralConfig(
        vocab_size=40, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=64, initializer_range=0.5, sliding_window=window,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = MistralForCausalLM(config).eval()
    begins, labels = [3, 4, 5, 6, 7], [[8], [9, 10, 11]]
    prompts = [[*begins, *range(12, 12 + more)] for more in (7, 4, 4, 1)] + [[*begins, 20, 21], [*begins, 30]]
    widths: list[int] = []
    model.register_forward_pre_hook(lambda _, args, given: widths.append(given["input_ids"].shape[1]), with_kwargs=True)
    together = [scores for batch in score_labels(model, prompts, labels, 4) for scores in batch]
    assert widths == ([5, 7, 2, 2, 2] if window is None else [5, 12, 2, 7, 2])
    alone = [next(score_labels(model, [prompt], labels, 1))[0] for prompt in prompts]
    for found, expected in zip(together, alone, strict=True):
        assert found == pytest.approx(expected, abs=1e-4)


def test_a_local_model_gives_labels_with_probabilities(plain: Path, synthetic: DatasetFolder, tmp_path: Path) -> None:
    out = tmp_path / "p.parquet"
    given: dict[str, Any] = {
        "shots": 0,
        "target": ["tents"],
        "local": True,
        "score_labels": True,
        "probabilities": True,
    }
    main("sa", synthetic.path, out, str(plain), **given)
    frame = pl.read_parquet(out)
    labels = synthetic.task("sa").labels
    for prediction, confidence, shares in frame.select("prediction", "confidence", "probabilities").iter_rows():
        assert sum(shares) == pytest.approx(1)
        assert (prediction, confidence) == (labels[shares.index(max(shares))], max(shares))


def test_prompt_llm_on_a_local_model(plain: Path, synthetic: DatasetFolder, tmp_path: Path) -> None:
    options: dict[str, Any] = {"shots": 1, "source": ["lamps"], "target": ["tents"], "local": True}
    for name in ("a", "b"):
        main("sa", synthetic.path, tmp_path / f"{name}.parquet", str(plain), **options)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    card = read_card(tmp_path / "a.card.yaml")
    assert card.parameters == LocalModel(str(plain)).parameters
    assert card.tokens
    assert card.tokens > 30 * 10
    assert {"torch", "transformers"} <= card.versions.keys()


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="causal"):
        ask(LocalModel(str(tmp_path)), requests(1))


@pytest.mark.parametrize("template", [None, TEMPLATE])
def test_a_label_that_begins_another_is_scored_with_its_end(template: str | None, tmp_path: Path) -> None:
    """Without an end the shorter label could only win: it would be a part of the longer one."""
    import torch

    words = [*(f"w{place}" for place in range(60)), "\n"]
    model: Any = LocalModel(str(save_model(tmp_path, template, words=words)), scores_labels=True)
    (request,) = [Request(each.messages, 6, ("w3", "w3 w8")) for each in requests(1)]
    short, long = LabelScores.from_text(ask(model, [request])[0].text or "").log_p
    prompt, tokenizer = model._tokens(request.messages), model._tokenizer
    end = [tokenizer.eos_token_id] if template else tokenizer("\n", add_special_tokens=False)["input_ids"]
    expected = []
    for label in ("w3", "w3 w8"):
        tokens = tokenizer(label, add_special_tokens=False)["input_ids"] + end
        with torch.inference_mode():
            log_p = model._model(torch.tensor([prompt + tokens])).logits[0].log_softmax(dim=-1)
        expected.append(sum(float(log_p[len(prompt) - 1 + i, token]) for i, token in enumerate(tokens)))
    assert [short, long] == pytest.approx(expected, abs=1e-4)


def test_an_answer_that_was_cut_is_told(plain: Path) -> None:
    asked = [Request(request.messages, most) for request, most in zip(requests(3), (1, 200, 1), strict=True)]
    endings = [answer.ending for answer in ask(LocalModel(str(plain)), asked)]
    assert endings[0] is Ending.TRUNCATED
