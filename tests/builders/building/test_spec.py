"""A benchmark that a TOML file describes: built as ours are, and refused by the name of each wrong key."""

import json
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building.build import Built, build
from shiftbench.builders.building.spec_tasks import open_spec
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.reading.checkpoint import checkpoint_key
from shiftbench.builders.writing import writer
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

SPEC = """
name = "support"
title = "Three tasks on invented tickets"

[sources.tickets]
title = "Tickets, invented"
url = "https://example.org/tickets"
licence = "CC BY 4.0"
spdx = "CC-BY-4.0"
open_licence = true
harm = "none"
personal_data = "none"
cite = ["doe-2026-tickets"]

[tasks.urgency]
title = "Urgency of tickets"
kind = "labels"
labels = ["urgent", "routine"]
columns = { domain = "team", text = "body", group = "thread" }
train = "tickets/tickets.csv"
domains = ["hardware", "software"]
steps = [
    { step = "keep_filled", column = "text" },
    { step = "label_from", column = "haste", labels = { yes = "urgent", no = "routine" }, others = ["?"] },
]

[tasks.names]
title = "Names in tickets"
kind = "tags"
labels = ["person"]
train = "tickets/{domain}.conll"
domains = ["hardware", "software"]

[tasks.questions]
title = "Questions on tickets"
kind = "answers"
columns = { text = ["body", "asked"], label = "found", split = "part" }

[tasks.questions.domains.hardware]
train = "tickets/asked.csv"
where = { team = ["hardware", "cables"] }

[tasks.questions.domains.software]
train = "tickets/asked.csv"
where = { team = "software" }
"""
BIB = "@misc{doe-2026-tickets,\n  title = {Tickets},\n  author = {Doe, J.},\n  year = {2026}\n}\n"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Return a spec with its citations and invented files beside it."""
    path, folder = tmp_path / "bench.toml", tmp_path / "tickets"
    folder.mkdir()
    path.write_text(SPEC, encoding="utf-8")
    path.with_suffix(".bib").write_text(BIB, encoding="utf-8")
    teams = ["hardware", "software", "cables"]
    numbers = range(240)
    tickets = {
        "team": [teams[n % 2] for n in numbers],
        "body": ["" if n == 7 else f"ticket {n} on the {['fan', 'menu'][n % 2]}" for n in numbers],
        "haste": ["?" if n == 8 else ["yes", "no"][n // 2 % 2] for n in numbers],
        "thread": [f"thread {n // 4}" for n in numbers],
    }
    pl.DataFrame(tickets).write_csv(folder / "tickets.csv")
    asked = {
        "team": [teams[n % 3] for n in numbers],
        "body": [f"room {n} has a fan" for n in numbers],
        "asked": [f"which room is number {n}?" for n in numbers],
        "found": [str(n) for n in numbers],
        "part": [("train", "train", "test")[n // 3 % 3] for n in numbers],
    }
    pl.DataFrame(asked).write_csv(folder / "asked.csv")
    for team in teams[:2]:
        lines = [f"Ann{n}\tB-person\nwrote\tO\n{team}\tO\n" for n in range(60)]
        (folder / f"{team}.conll").write_text("\n".join(lines), encoding="utf-8")
    return path


def built(spec: Path, out: Path, task: str | None = None, *, record: bool = False) -> Built:
    bench = open_spec(spec)
    return build(bench, task, (), out, record=bench.lock if record else None, placebo=False)


def change(spec: Path, written: str, instead: str) -> None:
    text = spec.read_text(encoding="utf-8")
    assert written in text
    spec.write_text(text.replace(written, instead), encoding="utf-8")


def test_labels_tags_and_answers_are_built(spec: Path, tmp_path: Path) -> None:
    manifest = built(spec, tmp_path / "out").manifest
    folder = DatasetFolder.open(tmp_path / "out")
    sizes = {
        (task, domain): sum(facts.rows for facts in info.splits.values())
        for task in manifest.tasks
        for domain, info in manifest.tasks[task].domains.items()
    }
    assert manifest.benchmark == "support"
    assert sizes == {
        ("urgency", "hardware"): 119,
        ("urgency", "software"): 119,
        ("names", "hardware"): 60,
        ("names", "software"): 60,
        ("questions", "hardware"): 160,
        ("questions", "software"): 80,
    }
    assert manifest.tasks["names"].labels == ("O", "B-person", "I-person")
    urgency = manifest.tasks["urgency"]
    assert (urgency.title, urgency.labels, urgency.min_texts) == ("Urgency of tickets", ("urgent", "routine"), 30)
    dropped = {(step.name, step.before - step.after) for step in urgency.transforms if step.before > step.after}
    assert {("keep_filled_text", 1), ("label_from_haste", 1)} <= dropped
    rows = pl.concat(folder.split("urgency", "hardware", split) for split in ("train", "validation", "test"))
    numbers = rows["text"].str.extract(r"(\d+)").cast(pl.Int64)
    assert rows["label"].to_list() == (numbers // 2 % 2).to_list()
    answers = folder.split("questions", "software", "test")
    assert all(
        context[start:].startswith(text)
        for context, answer in answers.select("context", "answers").iter_rows()
        for text, start in zip(answer["text"], answer["answer_start"], strict=True)
    )
    assert len(answers) == 26  # those whose part is 'test'


def test_groups_are_not_split(spec: Path, tmp_path: Path) -> None:
    built(spec, tmp_path / "out", "urgency")
    folder = DatasetFolder.open(tmp_path / "out")
    groups = [set(folder.split("urgency", "hardware", split)["group"]) for split in ("train", "validation", "test")]
    assert sum(map(len, groups)) == len(set.union(*groups)) == 60


def test_what_a_source_says_is_in_manifest_and_card(spec: Path, tmp_path: Path) -> None:
    source = built(spec, tmp_path / "out").manifest.sources["tickets"]
    assert (source.title, source.licence, source.open_licence) == ("Tickets, invented", "CC BY 4.0", True)
    assert source.citation == BIB.strip()
    card = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert "doe-2026-tickets" in card
    assert "paper" not in card


def test_closed_domains_are_built_with_the_spec(spec: Path, tmp_path: Path) -> None:
    change(spec, "open_licence = true", "open_licence = false")
    manifest = built(spec, tmp_path / "out", "urgency").manifest
    assert manifest.build_command("urgency").split()[2:] == [
        "own",
        "urgency",
        "--spec",
        "SPEC",
        "--raw",
        "RAW",
        "--out",
        "DIR",
    ]


def test_a_recorded_file_is_compared(spec: Path, tmp_path: Path) -> None:
    assert built(spec, tmp_path / "first", record=True).manifest.unverified
    lock = json.loads(spec.with_suffix(".lock.json").read_text(encoding="utf-8"))
    assert lock["files"]["tickets/tickets.csv"]["rows"] == 240
    again = built(spec, tmp_path / "second").manifest
    assert not again.unverified
    tickets = spec.parent / "tickets/tickets.csv"
    tickets.write_text(tickets.read_text(encoding="utf-8").replace("fan", "pan"), encoding="utf-8")
    altered = built(spec, tmp_path / "third")
    assert list(altered.failed) == ["urgency"]
    assert "checksum" in str(altered.failed["urgency"][0])


def test_files_are_looked_for_under_raw_first(spec: Path, tmp_path: Path) -> None:
    raw = tmp_path / "RAW"
    (raw / "tickets").mkdir(parents=True)
    for file in (spec.parent / "tickets").iterdir():
        file.rename(raw / "tickets" / file.name)
    assert build(open_spec(spec), "names", raw, tmp_path / "out").manifest.tasks["names"]


def test_missing_files_are_named_with_their_source(spec: Path, tmp_path: Path, wording: SnapshotAssertion) -> None:
    (spec.parent / "tickets/software.conll").unlink()
    assert refusal(InvalidInput, built, spec, tmp_path / "out", "names") == wording


def test_another_version_of_the_steps_reads_anew(spec: Path) -> None:
    """The steps of a spec are no part of the program, whose checksum tells old rows from new ones elsewhere."""
    file = spec.parent / "tickets/tickets.csv"
    before = [file.read for task in open_spec(spec).tasks[:1] for file in task.domains[0].files["train"]]
    change(spec, 'yes = "urgent", no = "routine"', 'no = "urgent", yes = "routine"')
    after = [file.read for task in open_spec(spec).tasks[:1] for file in task.domains[0].files["train"]]
    assert checkpoint_key(file, before) == checkpoint_key(file, before) != checkpoint_key(file, after)


WRONG = [
    ("title = \"Three", "titel = \"Three"),
    ("licence =", "license ="),
    ("licence =", "license ="),
    ("kind = \"tags\"", "kind = \"tag\""),
    ("text = \"body\",", "texts = \"body\","),
    ("where = { team = \"s", "were = { team = \"s"),
    ("[\"doe-2026-tickets\"]", "[\"doe-2026-ticket\"]"),
    ("name = \"support\"", "name = \"Support\""),
    ("name = \"support\"", "name = \"boss\""),
    ("\"keep_filled\"", "\"keep_fill\""),
    ("others = [", "other = ["),
    ("column = \"haste\", ", ""),
    ("labels = [\"person\"]", ""),
    ("[\"body\", \"asked\"]", "\"body\""),
    ("tickets/tickets.csv", "tickets/tickets.xlsx"),
    ("tickets/tickets.csv", "../tickets.csv"),
    ("kind = \"answers\"", "kind = \"answers\"\nmetric = \"f1\""),
    ("kind = \"answers\"", "kind = \"answers\"\nlabels = [\"a\"]"),
    ("domains = [\"hardware\", \"software\"]\n\n", "domains = [\"hardware\"]\n\n"),
    ("title = \"Names", "source = \"ticket\"\ntitle = \"Names"),
    ("columns = { text = [", "test = \"a.csv\"\ncolumns = { text = ["),
    ("labels = [\"urgent\"", "labels = \"urgent\"#"),
    ('"urgent", "routine"]', '"urgent", "urgent"]'),
    ('"hardware", "software"]\n\n', '"hardware", "hardware"]\n\n'),
    ("[sources.tickets]", '[sources."../tickets"]'),
    ('title = "Names in tickets"', 'title = ""'),
    ('"Names in tickets"', '"Names\\u202e"'),
    ('column = "text"', "column = 1"),
    ("CC-BY-4.0", "CC9"),
    ("https://example.org", "javascript:alert(1)"),
    ("cite =", 'downloads = [{ urls = ["file:///a"], place = "tickets/a.csv" }]\ncite ='),
    ("cite =", 'downloads = [{ urls = ["https://a"], place = "a.csv" }]\ncite ='),
    ("name =", "name"),
]  # fmt: skip


def test_a_wrong_key_is_named_with_its_cure(spec: Path, wording: SnapshotAssertion) -> None:
    right, said = spec.read_text(encoding="utf-8"), {}
    for written, instead in WRONG:
        change(spec, written, instead)
        with pytest.raises(InvalidInput) as refused:
            open_spec(spec)
        said[instead or f"no {written}"] = str(refused.value)
        assert all(problem.file.startswith(str(spec.parent)) for problem in refused.value.problems)
        spec.write_text(right, encoding="utf-8")
    assert said == wording


def test_problems_are_reported_all_at_once(spec: Path) -> None:
    change(spec, '"keep_filled"', '"keep_fill"')
    change(spec, 'labels = ["person"]', "")
    change(spec, "asked.csv", "asked.xls")
    with pytest.raises(InvalidInput) as refused:
        open_spec(spec)
    assert len(refused.value.problems) == 4  # the step and the labels of the task, the file of two domains


def test_a_domain_without_rows_is_refused_unless_the_build_is_partial(spec: Path, tmp_path: Path) -> None:
    change(spec, 'domains = ["hardware", "software"]\nsteps', 'domains = ["hardware", "software", "sofware"]\nsteps')
    with pytest.raises(InvalidInput, match=r"sofware.*keep_"):
        built(spec, tmp_path / "out", "urgency")
    assert not (tmp_path / "out").exists()
    partial = build(open_spec(spec), "urgency", spec.parent, tmp_path / "out", partial=True).manifest
    assert partial.tasks["urgency"].absent_domains == ("sofware",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("yes", "perhaps", "tickets.csv, column 'haste'"),
        ("body", "boddy", "tickets.csv, column 'body': this column is missing"),
    ],
)
def test_a_value_or_column_that_the_spec_does_not_know_is_refused(
    old: str, new: str, message: str, spec: Path, tmp_path: Path
) -> None:
    tickets = spec.parent / "tickets/tickets.csv"
    tickets.write_text(tickets.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InvalidInput, match=message):
        built(spec, tmp_path / "out", "urgency")


def test_a_disk_that_is_full_is_named_and_leaves_no_half_record(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    bench = open_spec(spec)
    with monkeypatch.context() as patch:
        patch.setattr(writer, "_write_manifest", full)
        patch.setattr(writer, "write_facts", full)
        with pytest.raises(InvalidInput, match="space"):
            built(spec, tmp_path / "out", "urgency", record=True)
    assert [*tmp_path.glob("out*")] == []
    assert not bench.lock.exists()
    usual = Path.write_text

    def full_at_the_end(path: Path, *given: str, **named: str) -> int:
        if path.name == bench.lock.name:
            usual(path, "{")
            full()
        return usual(path, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full_at_the_end)
        with pytest.raises(InvalidInput, match="exists"):
            built(spec, tmp_path / "out", "urgency", record=True)
    assert not bench.lock.exists()
