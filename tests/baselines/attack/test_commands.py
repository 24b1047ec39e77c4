"""Attacks on a toy victim that known typos fool, and what people fill in. Every text is invented."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shiftbench.baselines.attack import victims
from shiftbench.baselines.attack.campaign import Campaign, divide_evenly
from shiftbench.baselines.attack.perturb import SENTENCES, list_typos, split_words, vocabulary
from shiftbench.baselines.attack.review import COLUMNS
from shiftbench.baselines.attack.search import Attacked, Example, SearchLimits, attack_texts
from shiftbench.builders.building.own import build_own
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.readers.delimited import quoted_csv
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.cli import attack
from shiftbench.validation.report import InvalidInput

LABELS = ("benign", "toxic")
RUDE = ("grumblesome", "snarkful", "beastlike")


class Toy:
    """Says toxic where a rude word stands spelled right; a text of more than 14 words and none of them looks toxic."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        self.calls.append(len(texts))
        rude = np.array([sum(word in text for word in RUDE) for text in texts])
        long = np.array([len(split_words(text)) > 14 for text in texts])
        toxic = np.where(rude > 0, np.minimum(0.6 + 0.1 * rude, 0.95), np.where(long, 0.55, 0.2))
        return np.column_stack([1 - toxic, toxic])


class Stubborn(Toy):
    """Never changes its mind."""

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        super().__call__(texts)
        return np.tile([0.3, 0.7], (len(texts), 1))


def toxic(number: int) -> str:
    return f"you are one {RUDE[number % 3]} neighbour, number {number}, and your hedge looks terrible indeed"


def benign(number: int) -> str:
    return f"the {number} ducks on the pond sleep while evening falls over town"


def examples(n: int = 6) -> list[Example]:
    return [Example(f"t/{number}", toxic(number), 1, 0.7) for number in range(n)]


def attacked(found: Sequence[Example], victim: Toy | None = None, **options: Any) -> dict[str, Attacked]:
    limits = SearchLimits(**options)
    results = attack_texts(found, (victim or Toy()), frozenset(), limits=limits, seed=1)
    return {one.example.id: one for one in results}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    place = tmp_path_factory.mktemp("attack")
    rows = [
        {"domain": domain, "label": label, "text": make(number), "split": "train" if number % 3 else "test"}
        for domain, start in (("here", 0), ("there", 1000))
        for number in range(start, start + 60)
        for label, make in (("toxic", toxic), ("benign", benign))
    ]
    pl.DataFrame(rows).write_csv(place / "own.csv")
    build_own("td", place / "own.csv", place / "out")
    return DatasetFolder.open(place / "out")


@pytest.fixture
def make(folder: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Run ``attack make`` against the toy victim; returns the table."""

    def run(name: str = "review.csv", victim: Toy | None = None, **options: Any) -> Path:
        monkeypatch.setattr(victims, "load_victim", lambda *_, **__: victim or Toy())
        attack.make("td", folder.path, "here", tmp_path / name, **options)
        return tmp_path / name

    return run


def fill(path: Path, change: Callable[[pl.DataFrame], pl.DataFrame] = lambda table: table) -> Path:
    """Fill in yes for every row, as a spreadsheet would save it, then change the table."""
    table = pl.read_csv(path, infer_schema=False).with_columns(keep=pl.lit("yes"), reviewer=pl.lit("r"))
    filled = path.with_name("filled.csv")
    change(table).write_csv(filled)
    return filled


def test_known_typos_fool_the_victim() -> None:
    for one in attacked(examples()).values():
        assert one.flipped
        assert one.n_typos == 1
        assert re.fullmatch(rf"({'|'.join(RUDE)}) -> \w+", one.changes[0])
        before, after = split_words(one.example.text), split_words(one.text)
        (place,) = [place for place, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
        assert after[place] in list_typos(before[place], frozenset())
        assert one.p_gold == 0.2


def test_a_sentence_comes_when_typos_do_not_help() -> None:
    found = [Example(f"b/{number}", benign(number), 0, 0.8) for number in range(3)]
    for one in attacked(found).values():
        assert one.flipped
        assert one.n_typos == 0
        assert one.example.text in one.text
        assert one.changes[0].split(": ", 1)[1] in SENTENCES


@given(st.integers(0, 60), st.floats(0, 1), st.integers(8, 120), st.booleans())
def test_limits_hold_whatever_they_are(number: int, max_changed: float, queries: int, stubborn: bool) -> None:
    victim = Stubborn() if stubborn else Toy()
    start = victim([toxic(number)])[0, 1]
    (one,) = attacked(
        [Example("t/0", toxic(number), 1, float(start))], victim, max_changed=max_changed, queries=queries
    ).values()
    assert one.changed <= max_changed + 1e-9
    assert one.queries == sum(victim.calls) <= queries
    assert one.flipped == (victim([one.text])[0].argmax() != 1)
    assert not (stubborn and one.changes)


def test_what_comes_of_a_text_does_not_depend_on_the_others() -> None:
    every = examples()
    together = attacked(every)
    for example in every:
        assert attacked([example]) == {example.id: together[example.id]}
    assert attacked(every[::-1]) == together


def test_all_texts_share_the_calls() -> None:
    one, many = Toy(), Toy()
    attacked(examples(1), one)
    attacked(examples(30), many)
    assert len(many.calls) <= len(one.calls) + 1


def test_a_typo_never_makes_a_train_word() -> None:
    known = vocabulary(typo for word in RUDE for typo in list_typos(word, frozenset()))
    results = attack_texts(examples(), Toy(), known, limits=SearchLimits(), seed=1)
    assert not any(change.startswith(RUDE) for one in results for change in one.changes)


@given(st.integers(0, 50), st.lists(st.integers(0, 30), min_size=1, max_size=4))
def test_shares_are_even_as_far_as_there_are(n: int, most: list[int]) -> None:
    shares = divide_evenly(n, most)
    assert sum(shares) == min(n, sum(most))
    assert all(share <= limit for share, limit in zip(shares, most, strict=True))
    below = [share for share, limit in zip(shares, most, strict=True) if share < limit]
    assert not below or max(shares) - min(below) <= 1


def campaign(folder: DatasetFolder, victim: Toy, n: int) -> Campaign:
    rows = folder.split("td", "here", "test")
    return Campaign(rows, LABELS, victim, frozenset(), n=n, limits=SearchLimits(), seed=0)


def test_as_many_as_wanted_balanced_over_labels(folder: DatasetFolder) -> None:
    some = campaign(folder, Toy(), 9)
    some.run()
    assert [sum(one.example.gold == code for one in some.choose_fallen()) for code in (0, 1)] == [5, 4]
    every = campaign(folder, Toy(), 1000)
    every.run()
    benign_, toxic_, both = every.outcomes()
    assert (both.label, both.texts, both.right, both.attacked, both.fell) == ("all", 40, 40, 40, 40)
    assert (benign_.success_rate, toxic_.success_rate, both.accuracy_before, both.accuracy_after) == (1, 1, 1, 0)
    assert (benign_.changed, benign_.with_sentence, toxic_.with_sentence) == (0, 1, 0)
    assert toxic_.changed == pytest.approx(1 / 13)
    # If fewer texts are wanted, they are the first of the same order within each label.
    assert set(some.choose_fallen()) <= set(every.choose_fallen())


def test_only_texts_that_the_victim_gets_right_are_attacked(folder: DatasetFolder) -> None:
    stubborn = campaign(folder, Stubborn(), 10)
    stubborn.run()
    benign_, toxic_, both = stubborn.outcomes()
    assert (benign_.right, benign_.attacked, benign_.success_rate, benign_.accuracy_after) == (0, 0, None, 0)
    assert (toxic_.right, toxic_.attacked, toxic_.fell) == (20, 20, 0)
    assert (both.accuracy_before, both.accuracy_after, both.changed) == (0.5, 0.5, None)
    assert stubborn.choose_fallen() == []


def test_the_table_and_what_is_said(
    make: Callable[..., Path], folder: DatasetFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(json_="-", n=10)
    said = capsys.readouterr()
    table = pl.read_csv(path, infer_schema=False)
    assert tuple(table.columns) == COLUMNS
    assert len(table) == 10
    assert table["keep"].is_null().all()
    gold = folder.split("td", "here", "test").select("id", "text", "label")
    joined = table.join(gold, on="id", suffix="_gold")
    assert joined["original"].to_list() == joined["text"].to_list()
    assert [LABELS.index(label) for label in joined["label"]] == joined["label_gold"].to_list()
    assert (table["label"] != table["victim_label"]).all()
    assert (table["p_gold_after"].cast(pl.Float64) < 0.5).all()
    report = json.loads(said.out)
    assert (report["made"], report["data"], report["seed"]) == (10, folder.content_hash, 0)
    assert [outcome["label"] for outcome in report["outcomes"]] == ["benign", "toxic", "all"]
    assert f"wrote {path}: 10 texts; write yes or no" in said.err
    make("more.csv", n=1000)
    said = capsys.readouterr()
    assert "40 texts of 1,000 wanted: all texts that the victim gets right were tried" in said.err
    assert "100.0%" in said.out


def test_the_same_seed_gives_the_same_bytes(synthetic: DatasetFolder, tmp_path: Path) -> None:
    """With the victim that is trained here, too."""
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    for path, seed in zip(paths, (3, 3, 4), strict=True):
        attack.make("sa", synthetic.path, "lamps", path, n=6, seed=seed)
        assert len(pl.read_csv(path)) == 6
    first, again, other = (path.read_bytes() for path in paths)
    assert first == again != other


def test_a_victim_that_falls_for_nothing(make: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--victim: no changed text makes the victim err"):
        make(victim=Stubborn(), json_=str(tmp_path / "report.json"))
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_ctrl_c_keeps_what_was_found(make: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupted(Toy):
        def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
            if len(self.calls) == 3:  # all as they are, each word left out, typos of the first word
                raise KeyboardInterrupt
            return super().__call__(texts)

    with pytest.raises(KeyboardInterrupt):
        make(victim=Interrupted())
    found = re.search(r"stopped early: (.*) holds (\d+) texts found so far", capsys.readouterr().err)
    assert found is not None
    table = pl.read_csv(found[1], infer_schema=False)
    assert len(table) == int(found[2]) > 0
    assert set(table["label"]) == {"toxic"}


def test_ctrl_c_before_anything_was_found_writes_nothing(make: Callable[..., Path], tmp_path: Path) -> None:
    class AtOnce(Toy):
        def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
            if self.calls:
                raise KeyboardInterrupt
            return super().__call__(texts)

    with pytest.raises(KeyboardInterrupt):
        make(victim=AtOnce())
    assert list(tmp_path.iterdir()) == []


def collected(folder: DatasetFolder, reviewed: Path, **options: Any) -> Path:
    out = reviewed.with_name("adv.tsv")
    attack.collect("td", folder.path, reviewed, out, **options)
    return out


def test_what_people_keep_becomes_the_authors_form(
    make: Callable[..., Path], folder: DatasetFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(keep=pl.Series(["no", " Yes", "YES", "No", *["yes"] * 6]))

    path = make(n=10)
    filled = fill(path, answer)
    out = collected(folder, filled, json_="-")
    kept = pl.read_csv(filled, infer_schema=False).filter(pl.col("keep").str.strip_chars().str.to_lowercase() == "yes")
    with UpstreamFile(out) as file:
        read = pl.concat(list(quoted_csv("Text", "Label", separator="\t")(file)))
    assert read["Text"].to_list() == kept["adversarial"].to_list()
    assert [LABELS[int(number)] for number in read["Label"]] == kept["label"].to_list()
    said = capsys.readouterr()
    counts = {label: kept["label"].to_list().count(label) for label in LABELS}
    assert json.loads(said.out[said.out.index("{") :]) == {"texts": 8, "labels": counts}
    assert f"8 texts, {counts['benign']} benign (as 0), {counts['toxic']} toxic (as 1)" in said.err
    with pytest.raises(InvalidInput, match="the file exists"):
        collected(folder, filled)
    collected(folder, filled, overwrite=True)


def test_a_table_people_worked_on_is_not_replaced(make: Callable[..., Path]) -> None:
    path = make(n=4)
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="people may have filled it in; give another file, or delete this one first"):
        make(n=4)
    assert path.read_bytes() == before
    make(n=4, overwrite=True)


def _set(column: str, value: str, row: int = 1) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def change(table: pl.DataFrame) -> pl.DataFrame:
        here = pl.int_range(pl.len()) == row
        return table.with_columns(pl.when(here).then(pl.lit(value)).otherwise(pl.col(column)).alias(column))

    return change


@pytest.mark.parametrize(
    ("change", "words_"),
    [
        (_set("keep", ""), "column 'keep', row 2: a row is not reviewed yet; write yes or no"),
        (
            lambda table: table.with_columns(keep=pl.lit("")),
            "column 'keep', row 1: a row is not reviewed yet (and 9 more rows); write yes or no",
        ),
        (_set("keep", "perhaps"), "column 'keep', row 2: this is neither yes nor no; found 'perhaps'; write yes or no"),
        (_set("id", "x/y"), "column 'id', row 2: no test text of the task has this id; found 'x/y'"),
        (lambda table: pl.concat([table, table.head(1)]), "column 'id', row 1: an id is repeated (and 1 more row)"),
        (_set("original", "another text"), "column 'original', row 2: the original is not the test text of this id"),
        (_set("label", "harmless"), "column 'label', row 2: the label differs from the test text's; found 'harmless'"),
        (_set("adversarial", " "), "column 'adversarial', row 2: the adversarial text is empty; answer no instead"),
        (lambda table: table.drop("label"), "column 'label': a column is missing"),
        (lambda table: table.with_columns(keep=pl.lit("no")), "column 'keep': no row is kept; write yes where"),
    ],
    ids=["unfilled", "all-unfilled", "answer", "id", "repeated", "original", "label", "empty", "column", "none"],
)
def test_a_table_that_cannot_be_collected(
    change: Callable[[pl.DataFrame], pl.DataFrame], words_: str, make: Callable[..., Path], folder: DatasetFolder
) -> None:
    filled = fill(make(n=10), change)
    with pytest.raises(InvalidInput) as refused:
        collected(folder, filled)
    assert f"{filled}, {words_}" in str(refused.value)
    assert not filled.with_name("adv.tsv").exists()


def test_paths_that_cannot_be(folder: DatasetFolder, tmp_path: Path) -> None:
    for out, words_ in ((tmp_path, "this is a folder"), (tmp_path / "no" / "x.csv", "there is no such folder")):
        with pytest.raises(InvalidInput, match=words_):
            attack.make("td", folder.path, "here", out)
    with pytest.raises(InvalidInput, match="no such file; give the table that 'shiftbench study attack make' wrote"):
        attack.collect("td", folder.path, tmp_path / "none.csv", tmp_path / "x.tsv")


def test_tasks_and_victims_that_cannot_be(folder: DatasetFolder, synthetic: DatasetFolder, tmp_path: Path) -> None:
    out = tmp_path / "x.csv"
    with pytest.raises(InvalidInput, match="found task 'nli' of kind 'classification' with premise, hypothesis"):
        attack.make("nli", synthetic.path, "harbour", out)
    with pytest.raises(InvalidInput, match="has no such domain"):
        attack.make("td", folder.path, "elsewhere", out)
    with pytest.raises(
        InvalidInput, match="--victim: there is no victim of this name; found 'tfidf'; did you mean 'tfidf-lr'"
    ):
        attack.make("td", folder.path, "here", out, victim="tfidf")
    with pytest.raises(typer.BadParameter, match="--encoder is for the victim sbert-lr"):
        attack.make("td", folder.path, "here", out, encoder="x")
    assert not out.exists()
