"""Facts about a model: the card's own, else those of its page on the Hub, each with its source."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.board import Index, find_board
from shiftbench.leaderboard.board.submission import check, submit
from shiftbench.leaderboard.store import Store
from shiftbench.leaderboard.store.entries import entry_bytes, parse_entry
from shiftbench.leaderboard.store.model_facts import (
    FROM_CARD,
    OF_BASE_MODEL,
    OF_MODEL,
    Fact,
    HubFacts,
    hub_repository,
    model_facts,
    read_hub_facts,
)
from shiftbench.validation.cards import Card, parse_card
from shiftbench.validation.report import InvalidInput
from tests.hub.server import LoopbackHub, running_hub
from tests.hub.spaces import stored_model
from tests.leaderboard.sending import Sender

README = "---\nlicense: mit\nbase_model: lab/base\n---\n# A model\n"


def safetensors(*shapes: list[int]) -> bytes:
    """Return the head of a file of weights, which is all that the Hub reads."""
    head = {f"layer.{number}": {"dtype": "F32", "shape": shape} for number, shape in enumerate(shapes)}
    text = json.dumps({"__metadata__": {"format": "pt"}, **head}).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackHub]:
    """A Hub with a model of 1,210 parameters, one without a card or weights, and a private one."""
    with running_hub(tmp_path_factory.mktemp("hub")) as running:
        stored = running.stored
        files = {"README.md": README.encode(), "model.safetensors": safetensors([30, 40], [10])}
        for name, content, private in (("lab/model", files, False), ("lab/bare", {}, False), ("lab/own", files, True)):
            repository = stored.create(stored_model(name), private=private)
            added = {path: stored.store(each, lfs=False) for path, each in content.items()}
            repository.add("main", "files", {**repository.commit("main").files, **added})
        yield running


@pytest.fixture
def asked(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> LoopbackHub:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
    return hub


def card(**facts: object) -> Card:
    return Card.model_validate({"name": "A", "paradigm": "other", "data": "0" * 64, **facts})


def test_the_hubs_page_fills_what_the_card_leaves_out(asked: LoopbackHub) -> None:
    sent = card(model_url="https://huggingface.co/lab/model", licence="Apache-2.0")
    facts = model_facts(sent, read_hub_facts(sent))
    assert facts == {
        "licence": Fact("Apache-2.0", FROM_CARD),
        "open_weights": Fact(True, OF_MODEL),
        "released": Fact("2024-05-31", OF_MODEL),
        "parameters": Fact(1_210, OF_MODEL),
        "base_model": Fact("lab/base", OF_MODEL),
    }


def test_of_a_fine_tuned_model_the_base_models_page_answers(asked: LoopbackHub) -> None:
    sent = card(base_model="lab/model")
    facts = model_facts(sent, read_hub_facts(sent))
    assert facts["base_model"] == ("lab/model", FROM_CARD)
    assert facts["parameters"] == (1_210, OF_BASE_MODEL)
    bare = card(base_model="lab/bare")
    assert {name: fact.value for name, fact in model_facts(bare, read_hub_facts(bare)).items()} == {
        "base_model": "lab/bare",
        "open_weights": False,
        "released": "2024-05-31",
    }


def test_a_private_page_is_not_read_whatever_token_this_machine_has(
    asked: LoopbackHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_write")
    with pytest.raises(InvalidInput, match="lab/own: "):
        read_hub_facts(card(model_url="https://huggingface.co/lab/own"))


def test_nobody_is_asked_where_the_card_says_all_or_names_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda *_, **__: pytest.fail("the Hub was asked"))
    told = {"licence": "MIT", "open_weights": True, "released": "2024-05-31", "parameters": 7, "base_model": "lab/base"}
    assert read_hub_facts(card(**told)) is None
    assert read_hub_facts(card(base_model="roberta")) is None


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://huggingface.co/lab/model/tree/main?x=1#y", "lab/model"),
        ("https://huggingface.co/datasets/lab/model", None),
        ("https://huggingface.co/lab", None),
        ("https://huggingface.co.evil.example/lab/model", None),
        ("https://example.org/lab/model", None),
    ],
)
def test_only_a_models_page_on_the_hub_is_asked(url: str, name: str | None) -> None:
    assert (hub_repository(url, None) or (None,))[0] == name


def test_an_entry_keeps_what_the_hub_said_and_boards_have_it(
    asked: LoopbackHub, sender: Sender, tmp_path: Path
) -> None:
    index = Index([sender.folder], Store(tmp_path / "store"))
    text = '{"name": "A", "paradigm": "other", "model_url": "https://huggingface.co/lab/model"}'
    name = f"{sender.folder.manifest.benchmark}/nli"
    asked_for = {"sender": lambda: "ada", "daily_quota": None, "board": name}
    answer = submit(index, sender.path, text, **asked_for)
    assert (answer["ok"], answer["note"]) == (True, "")
    kept = index.entry(str(answer["entry"]))
    assert kept.hub is not None
    assert parse_entry(entry_bytes(kept), kept.id) == kept
    row = index.frame(find_board(name, index.boards())).row(0, named=True)
    columns = ("licence", "open_weights", "released", "parameters", "base_model")
    assert [row[column] for column in columns] == ["mit", True, "2024-05-31", 1_210, "lab/base"]
    gone = submit(index, sender.path, text.replace("lab/model", "lab/none"), **asked_for)
    assert gone["ok"]
    assert "lab/none" in gone["note"]


def test_the_chosen_board_stands_for_the_hash_and_must_fit_the_file(
    sender: Sender, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    index = Index([sender.folder], Store(tmp_path / "store"))
    text, benchmark = '{"name": "A", "paradigm": "other"}', sender.folder.manifest.benchmark
    assert check(index, sender.path, text, board=f"{benchmark}/nli")["ok"]
    wrong = f'{{"name": "A", "paradigm": "other", "data": "{"0" * 64}"}}'
    cases = ((text, ""), (text, f"{benchmark}/sa"), (wrong, f"{benchmark}/nli"), (text, "none/nli"))
    assert [check(index, sender.path, card, board=board)["problems"] for card, board in cases] == wording


@pytest.mark.parametrize("day", ["2024-13-01", "31.05.2024", "2024", "2024-05-31T08:00"])
def test_a_release_is_a_day(day: str) -> None:
    with pytest.raises(InvalidInput, match="released"):
        parse_card(f'{{"name": "A", "paradigm": "other", "data": "{"0" * 64}", "released": "{day}"}}')


def test_facts_of_an_entry_that_somebody_changed_are_refused() -> None:
    with pytest.raises(ValueError, match="invisible"):
        HubFacts(repository="lab/a\u202eb")
