"""Own data of every kind, end to end: from files of every form to a folder, scores and a report."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

import shiftbench as sb
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.command import app
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import GOLD, TaskKind
from tests.leaderboard.conftest import Visible
from tests.refusals import refusal

DOMAINS = ("Sci Fi", "toys")
N = 40


def tags(domain: str, number: int) -> dict[str, Any]:
    return {
        "tokens": ["Ada", "Low", "saw", domain.split(maxsplit=1)[0], f"no{number}"],
        "tags": ["B-per", "I-per", "O", "B-x", "O"],
    }


def answers(domain: str, number: int) -> dict[str, Any]:
    context = f"In {domain} the price was {number} coins."
    answer = {"text": [f"{number} coins"], "answer_start": [context.index(f"{number} coins")]}
    return {"context": context, "question": f"What was the price in {domain}?", "answers": answer}


def texts(domain: str, number: int) -> dict[str, Any]:
    return {"text": f"A long story of {domain} with {number} turns.", "target_text": f"{domain}, {number} turns"}


def labels(domain: str, number: int) -> dict[str, Any]:
    return {"text": f"a {domain} thing, seen {number} times", "label": number % 2}


MAKERS = {"tags": tags, "answers": answers, "texts": texts, "labels": labels}


def rows(kind: str) -> list[dict[str, Any]]:
    made = [
        {"domain": domain, **MAKERS[kind](domain, n), "key": f"{domain[0]}{n}"} for domain in DOMAINS for n in range(N)
    ]
    return made


def as_csv(path: Path, made: list[dict[str, Any]]) -> Path:
    flat = []
    for row in made:
        plain = {name: " ".join(value) if isinstance(value, list) else value for name, value in row.items()}
        if "answers" in plain:
            plain["answer"] = plain.pop("answers")["text"][0]
        flat.append(plain)
    pl.DataFrame(flat).write_csv(path / "own.csv")
    return path / "own.csv"


def as_json_lines(path: Path, made: list[dict[str, Any]]) -> Path:
    (path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    return path / "own.jsonl"


def as_json(path: Path, made: list[dict[str, Any]]) -> Path:
    (path / "own.json").write_text(json.dumps(made), encoding="utf-8")
    return path / "own.json"


def as_parquet(path: Path, made: list[dict[str, Any]]) -> Path:
    pl.DataFrame(made).write_parquet(path / "own.parquet")
    return path / "own.parquet"


def as_pandas(path: Path, made: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(made)


def as_polars(path: Path, made: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(made)


def as_token_lines(path: Path, made: list[dict[str, Any]]) -> Path:
    (path / "folder").mkdir()
    for domain in DOMAINS:
        sentences = [
            "".join(f"{token}\t{tag}\n" for token, tag in zip(row["tokens"], row["tags"], strict=True))
            for row in made
            if row["domain"] == domain
        ]
        (path / "folder" / f"{domain}.conll").write_text("\n".join(sentences), encoding="utf-8")
    return path / "folder"


def as_squad(path: Path, made: list[dict[str, Any]]) -> Path:
    for domain in DOMAINS:
        paragraphs = []
        for row in (row for row in made if row["domain"] == domain):
            pairs = zip(row["answers"]["text"], row["answers"]["answer_start"], strict=True)
            asked = [{"text": text, "answer_start": start} for text, start in pairs]
            question = {"id": row["key"], "question": row["question"], "answers": asked}
            paragraphs.append({"context": row["context"], "qas": [question]})
        (path / "squad").mkdir(exist_ok=True)
        content = {"version": "1.1", "data": [{"title": domain, "paragraphs": paragraphs}]}
        (path / "squad" / f"{domain}.json").write_text(json.dumps(content), encoding="utf-8")
    return path / "squad"


ANY = (as_csv, as_json_lines, as_json, as_parquet, as_pandas, as_polars)
FORMS = [(kind, form) for kind in MAKERS for form in ANY] + [("tags", as_token_lines), ("answers", as_squad)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DatasetFolder]:
    """One folder a kind, from JSON lines."""
    place = tmp_path_factory.mktemp("built")
    found = {}
    for kind in MAKERS:
        (place / kind).mkdir()
        found[kind] = sb.build_own(as_json_lines(place / kind, rows(kind)), out=place / kind / "out", min_texts=5)
    return found


@pytest.mark.parametrize(("kind", "form"), FORMS, ids=[f"{kind}-{form.__name__}" for kind, form in FORMS])
def test_every_form_gives_the_same_rows(
    kind: str, form: Callable[[Path, Any], Any], built: dict[str, DatasetFolder], tmp_path: Path
) -> None:
    folder = sb.build_own(form(tmp_path, rows(kind)), out=tmp_path / "out", min_texts=5)
    assert folder.content_hash == built[kind].content_hash
    assert folder.task("own").kind == built[kind].task("own").kind
    assert [facts.title for facts in folder.task("own").domains.values()] == ["Sci Fi", ""]


def test_labels_stay_as_written(tmp_path: Path, built: dict[str, DatasetFolder]) -> None:
    assert built["labels"].task("own").labels == ("0", "1")
    mixed = [row | {"label": ("1", "1.0", "true", "01")[n % 4]} for n, row in enumerate(rows("labels"))]
    lines = "".join(
        json.dumps(row).replace('"1"', "1").replace('"1.0"', "1.0").replace('"true"', "true") + "\n" for row in mixed
    )
    (tmp_path / "own.jsonl").write_text(lines, encoding="utf-8")
    folder = sb.build_own(tmp_path / "own.jsonl", out=tmp_path / "a")
    assert folder.task("own").labels == ("01", "1", "true")  # 01 is a code; 1.0 is 1
    gap = pd.DataFrame(rows("labels"))
    gap.loc[3, "label"] = None
    with pytest.raises(InvalidInput, match="'label', row 4:"):
        sb.build_own(gap, out=tmp_path / "b")
    folder = sb.build_own(gap.drop(index=3), out=tmp_path / "b")
    assert folder.task("own").labels in {("0.0", "1.0"), ("0", "1")}


def predicted(folder: DatasetFolder, task: str) -> pl.DataFrame:
    """Right predictions at home, the gold of the row before elsewhere."""
    info = folder.task(task)
    gold = GOLD[info.kind]
    tests = folder.test(task)
    words = dict(enumerate(info.labels))
    values = tests[gold].to_list()
    if info.kind is TaskKind.CLASSIFICATION:
        said = [words[code] for code in values]
    elif info.kind is TaskKind.TAGGING:
        said = [" ".join(words[code] for code in codes) for codes in values]
    elif info.kind is TaskKind.EXTRACTIVE_QA:
        said = [value["text"][0] for value in values]
    else:
        said = values
    parts = []
    for source in info.domains:
        home = (tests["domain"] == source).to_list()
        other = [said[-1], *said[:-1]]
        shown = [right if own else wrong for right, wrong, own in zip(said, other, home, strict=True)]
        parts.append(pl.DataFrame({"source": source, "id": tests["id"], "prediction": shown}))
    return pl.concat(parts)


@pytest.mark.parametrize("kind", MAKERS)
def test_from_a_file_to_a_report(kind: str, tmp_path: Path) -> None:
    """The commands alone: build own, then score with a report."""
    csv = as_csv(tmp_path, rows(kind))
    out = tmp_path / "out"
    command = ["build", "own", "mine", "--raw", str(csv), "--out", str(out), "--encoder", "none", "--min-texts", "5"]
    result = CliRunner().invoke(app, [*command, "--columns", "id=key"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    folder = DatasetFolder.open(out)
    predicted(folder, "mine").write_parquet(tmp_path / "preds.parquet")
    report = tmp_path / "report.html"
    scored = CliRunner().invoke(
        app,
        ["score", str(tmp_path / "preds.parquet"), "--data", str(out), "--report", str(report)],
        catch_exceptions=False,
    )
    assert scored.exit_code == 0, scored.output
    assert "Sci Fi" in scored.output
    shown = Visible(report.read_text(encoding="utf-8"))
    assert "Sci Fi" in shown.text
    assert "sci-fi" not in shown.text.replace("own/mine/sci-fi", "")  # domains are shown as written


@pytest.mark.parametrize("kind", MAKERS)
def test_scores_on_a_file_need_no_folder(kind: str, tmp_path: Path) -> None:
    made = rows(kind)
    lines = as_json_lines(tmp_path, made)
    gold = {"tags": lambda row: " ".join(row["tags"]), "answers": lambda row: row["answers"]["text"][0],
            "texts": lambda row: row["target_text"], "labels": lambda row: str(row["label"])}[kind]  # fmt: skip
    right = [{"source": domain, "id": row["key"], "prediction": gold(row)} for domain in DOMAINS for row in made]
    pl.DataFrame(right).write_csv(tmp_path / "preds.csv")
    report = tmp_path / "report.html"
    command = [
        "score",
        str(tmp_path / "preds.csv"),
        "--data",
        str(lines),
        "--columns",
        "id=key",
        "--report",
        str(report),
    ]
    result = CliRunner().invoke(app, [*command, "--json", "-"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (task,) = json.loads(result.stdout)["tasks"]
    assert [shift["st"]["value"] for shift in task["shifts"]] == [1.0, 1.0]
    assert task["summary"]["complete"]
    assert "Sci Fi" in Visible(report.read_text(encoding="utf-8")).text


WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "fewer tags than tokens": ("tags", {"tags": ["B-per"]}),
    "no tokens": ("tags", {"tokens": []}),
    "an empty token": ("tags", {"tokens": ["a", " ", "c", "d", "e"]}),
    "no BIO tags": ("tags", {"tags": ["per", "O", "O", "O", "O"]}),
    "no tags": ("tags", {"tags": None}),
    "an answer elsewhere": ("answers", {"answers": {"text": ["nine"], "answer_start": [3]}}),
    "an empty question": ("answers", {"question": " "}),
    "no context": ("answers", {"context": None}),
    "an empty target": ("texts", {"target_text": ""}),
    "a list and texts": ("texts", {"text": ["a"]}),
}


def test_what_is_wrong_is_told_by_kind(tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {}
    for name, (kind, change) in WRONG.items():
        made = rows(kind)
        made[1] |= change
        said[name] = refusal(InvalidInput, sb.build_own, as_json_lines(tmp_path, made), out=tmp_path / "out")
    assert said == wording


def test_a_file_that_cannot_be_read(tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {}
    for name, content in (
        ("own.xlsx", b"PK\x03\x04"),
        ("own.jsonl", b'{"domain": "a"\n'),
        ("own.jsonl", b'["a"]\n'),
        ("own.json", b'{"a": 1}'),
        ("own.parquet", b"PAR1 no"),
        ("own.conll", b"Ada\tB-x\n\nLow\n"),
        ("own.conll", b"Ada\tB-x\n"),
    ):
        (tmp_path / name).write_bytes(content)
        said[f"{name} {content!r}"] = refusal(InvalidInput, sb.build_own, tmp_path / name, out=tmp_path / "out")
    assert said == wording


def test_small_domains_leave_the_means_and_are_told(tmp_path: Path, wording: SnapshotAssertion) -> None:
    made = [row | {"split": "test"} for row in rows("labels")]
    made += [
        {"domain": "films", "text": f"film {n}", "label": n % 2, "key": f"f{n}", "split": "test"} for n in range(5)
    ]
    lines = as_json_lines(tmp_path, made)
    sources = (*DOMAINS, "films")
    guesses = [
        {"source": source, "id": row["key"], "prediction": str(row["label"] if row["domain"] != "films" else 1)}
        for source in sources
        for row in made
    ]
    predictions = pl.DataFrame(guesses)
    predictions.write_csv(tmp_path / "preds.csv")
    found = {}
    for least in ("0", "30"):
        command = ["score", str(tmp_path / "preds.csv"), "--data", str(lines), "--columns", "id=key"]
        result = CliRunner().invoke(app, [*command, "--min-texts", least, "--json", "-"], catch_exceptions=False)
        found[least] = json.loads(result.stdout)
    means = {least: scores["tasks"][0]["summary"]["mean_st"]["value"] for least, scores in found.items()}
    assert means["0"] < 0.9
    assert means["30"] == 1.0
    assert found["30"]["tasks"][0]["summary"]["n_shifts"] == 2
    assert found["30"]["tasks"][0]["summary"]["complete"]
    assert len(found["30"]["tasks"][0]["shifts"]) == 6
    assert [(item["target"], item["what"]) for item in found["30"]["missing"]] == wording
    assert not [item for item in found["0"]["missing"] if item["what"].startswith("skipped")]
