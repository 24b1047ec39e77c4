"""Upstream splits against their records: invented releases are built, recorded, mutated, and built again."""

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders import boss
from shiftbench.builders.building import build as build_module
from shiftbench.builders.building import read_tasks as reading_module
from shiftbench.builders.building.build import BENCHMARKS, build, list_domains
from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.reading import intake as intake_module
from shiftbench.builders.specs.spec import DomainSpec, FileFacts, Transform, Upstream, upstream
from shiftbench.builders.specs.transforms import label_from
from shiftbench.validation.report import InvalidInput
from tests.command_line import run

DSC, IMDB = "boss/sa_candidates.dsc", "boss/sa_candidates.imdb"
TRAIN, TEST, ARCHIVE = "dsc/train.tsv", "dsc/test.tsv", "imdb/aclImdb_v1.tar.gz"
N_TRAIN, N_TEST, N_SHARED = 400, 100, 7
Lines = list[str]


def lines(split: str, n_rows: int) -> Lines:
    """Build lines of DSC: labels in turns of three; the first test texts are train texts."""
    texts = [f"{'train' if number < N_SHARED else split} remark {number} on the kettle" for number in range(n_rows)]
    return [f"{text}\t{1 if number % 3 else -1}" for number, text in enumerate(texts)]


def write(raw: Path, place: str, rows: Lines) -> None:
    (raw / place).parent.mkdir(parents=True, exist_ok=True)
    (raw / place).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def write_archive(raw: Path, splits: dict[str, Lines]) -> None:
    """Write reviews as IMDb has them, in one archive: even ones are negative."""
    (raw / ARCHIVE).parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(raw / ARCHIVE, "w:gz") as archive:
        for split, texts in splits.items():
            for number, text in enumerate(texts):
                member = tarfile.TarInfo(f"aclImdb/{split}/{('neg', 'pos')[number % 2]}/{number}_9.txt")
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text.encode()))


REVIEWS = {"train": [f"a film of train {n}" for n in range(40)], "test": [f"a film of test {n}" for n in range(30)]}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    raw = tmp_path_factory.mktemp("release")
    write(raw, TRAIN, lines("train", N_TRAIN))
    write(raw, TEST, lines("test", N_TEST))
    write_archive(raw, REVIEWS)
    return raw


@pytest.fixture(scope="module")
def records(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    """What is recorded of the release, without rows and checksums of files, which would notice some mutations first."""
    out = tmp_path_factory.mktemp("recorded")
    found = {}
    with known(Upstream(files={}, rows={})):
        for domain in ("dsc", "imdb"):
            build("boss", f"sa_candidates.{domain}", release, out / domain, record=out / f"{domain}.json")
            found[domain] = Upstream.model_validate_json((out / f"{domain}.json").read_text())
    domains = {DSC: found["dsc"].domains[DSC], IMDB: found["imdb"].domains[IMDB]}
    return Upstream(files={}, rows={}, domains=domains)


@contextmanager
def known(records: Upstream) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_module, "upstream", lambda: records)
        yield


@contextmanager
def built_from(name: str, change: Callable[[DomainSpec], DomainSpec]) -> Iterator[None]:
    """Change the spec of one of the two data sets."""
    task = boss.sentiment.SA_CANDIDATES
    domains = tuple(change(domain) if domain.name == name else domain for domain in task.domains)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BENCHMARKS, "boss", ("BOSS", (replace(task, domains=domains),)))  # type: ignore[misc]
        yield


def command(domain: str, raw: Path, out: Path, *options: str) -> tuple[int, str]:
    ended = run("build", "boss", f"sa_candidates.{domain}", "--raw", raw, "--out", out, "--encoder", "none", *options)
    return ended.returncode, ended.stderr


def test_the_release_itself_is_built(release: Path, records: Upstream, tmp_path: Path) -> None:
    with known(records):
        for domain in ("dsc", "imdb"):
            assert command(domain, release, tmp_path / domain)[0] == 0


def test_two_folders_of_one_archive_keep_their_own_rows(release: Path, tmp_path: Path, unrecorded: None) -> None:
    build("boss", "sa_candidates.imdb", release, tmp_path / "out")
    folder = DatasetFolder.open(tmp_path / "out")
    for split, texts in REVIEWS.items():
        assert sorted(folder.split("sa_candidates", "imdb", split)["text"]) == sorted(texts)
    files = folder.task("sa_candidates").domains["imdb"].upstream
    assert {split: file.rows for split, (file,) in files.items()} == {"train": 40, "test": 30}


def test_what_is_recorded_is_what_is_in_the_files(records: Upstream) -> None:
    record = records.domains[DSC]
    assert record is not None
    train, test = record.splits["train"][TRAIN], record.splits["test"][TEST]
    assert train is not None
    assert test is not None
    assert (train.rows, train.labels) == (N_TRAIN, {"negative": 134, "positive": 266})
    assert (test.rows, test.labels) == (N_TEST, {"negative": 34, "positive": 66})
    assert len(set(train.hashes)) == len(set(test.hashes)) == 10
    assert record.overlaps == {"test in train": N_SHARED}


Mutation = Callable[[Path], None]


def swap(raw: Path) -> None:
    write(raw, TRAIN, lines("test", N_TEST))
    write(raw, TEST, lines("train", N_TRAIN))


def shift_labels(raw: Path) -> None:
    rows = [row.split("\t") for row in lines("train", N_TRAIN)]
    write(raw, TRAIN, [f"{text}\t{-int(label)}" for text, label in rows])


def move_labels(raw: Path) -> None:
    """Move to each text the label of the next one: their counts stay."""
    rows = [row.split("\t") for row in lines("train", N_TRAIN)]
    labels = [label for _, label in rows[1:]] + [rows[0][1]]
    write(raw, TRAIN, [f"{text}\t{label}" for (text, _), label in zip(rows, labels, strict=True)])


def drop_rows(raw: Path) -> None:
    write(raw, TRAIN, lines("train", N_TRAIN)[: -N_TRAIN // 100])


def repeat_rows(raw: Path) -> None:
    write(raw, TRAIN, lines("train", N_TRAIN) + lines("train", N_TRAIN)[:4])


def repeat_in_place(raw: Path) -> None:
    """Put the copy of a row in the place of another one with its label."""
    rows = lines("train", N_TRAIN)
    write(raw, TRAIN, [*rows[:-3], rows[-6], *rows[-2:]])


def mix_files(raw: Path) -> None:
    """Exchange 20 rows of the two files."""
    train, test = lines("train", N_TRAIN), lines("test", N_TEST)
    write(raw, TRAIN, train[:-20] + test[-20:])
    write(raw, TEST, test[:-20] + train[-20:])


def another_file(raw: Path) -> None:
    write(raw, TEST, lines("other", N_TEST))


def cut_texts(raw: Path) -> None:
    write(raw, TEST, [row.replace(" on the kettle", "") for row in lines("test", N_TEST)])


def leak(raw: Path) -> None:
    """Put train texts in place of three test texts, labels and number as before."""
    write(raw, TEST, lines("train", N_SHARED + 3) + lines("test", N_TEST)[N_SHARED + 3 :])


MUTATIONS: dict[str, Mutation] = {
    "swap two splits": swap,
    "shift labels by one": shift_labels,
    "move labels to the next text": move_labels,
    "drop 1% of the rows": drop_rows,
    "repeat rows": repeat_rows,
    "repeat a row in place of another": repeat_in_place,
    "mix two files": mix_files,
    "take another file": another_file,
    "cut texts off": cut_texts,
    "leak three texts": leak,
}


def test_a_mutated_file_fails_the_build(records: Upstream, tmp_path: Path, wording: SnapshotAssertion) -> None:
    messages = {}
    for name, mutate in MUTATIONS.items():
        write(tmp_path, TRAIN, lines("train", N_TRAIN))
        write(tmp_path, TEST, lines("test", N_TEST))
        mutate(tmp_path)
        with known(records):
            code, messages[name] = command("dsc", tmp_path, tmp_path / "out")
        assert code == 1
        assert not (tmp_path / "out").exists()
    assert messages == wording


def swapped(domain: DomainSpec) -> DomainSpec:
    return replace(domain, files={"train": domain.files["test"], "test": domain.files["train"]})


def step_in_place(number: int, step: Transform) -> Callable[[DomainSpec], DomainSpec]:
    return lambda domain: replace(
        domain, transforms=tuple(step if at == number else old for at, old in enumerate(domain.transforms))
    )


PROGRAM_MUTATIONS: dict[str, tuple[str, Callable[[DomainSpec], DomainSpec]]] = {
    "files of the splits": ("imdb", swapped),
    "names of the labels": ("imdb", step_in_place(0, label_from("label", {"pos": "negative", "neg": "positive"}))),
    "a step that drops rows": ("dsc", step_in_place(2, Transform("drop", lambda frame: frame[1:]))),
    "a step that changes texts": (
        "dsc",
        step_in_place(2, Transform("lower", lambda frame: frame.with_columns(pl.col("text").str.to_uppercase()))),
    ),
    "the group": (
        "dsc",
        lambda domain: replace(
            domain,
            transforms=(*domain.transforms, Transform("one", lambda frame: frame.with_columns(group=pl.lit("a")))),
        ),
    ),
}


@pytest.mark.parametrize("name", PROGRAM_MUTATIONS)
def test_a_mutated_program_fails_the_build(name: str, release: Path, records: Upstream, tmp_path: Path) -> None:
    domain, change = PROGRAM_MUTATIONS[name]
    with known(records), built_from(domain, change):
        code, said = command(domain, release, tmp_path / "out")
    assert code == 1
    assert f"boss/sa_candidates.{domain}, " in said


def overwrite(frame: pl.DataFrame, path: Path) -> None:
    frame.write_parquet(path)


def test_a_part_is_never_written_over_and_the_oracle_would_notice(
    release: Path, records: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same_size = {split: texts[:30] for split, texts in REVIEWS.items()}
    write_archive(tmp_path, same_size)
    monkeypatch.setattr(reading_module, "_store_key", lambda file: file.path)  # one store for all files of an archive
    code, said = command("imdb", tmp_path, tmp_path / "out")
    assert code == 1
    assert "stored" in said
    monkeypatch.setattr(intake_module, "write_part", overwrite)
    with known(Upstream(files={}, rows={})):
        code, said = command("imdb", tmp_path, tmp_path / "out")
    assert code == 1
    assert f"{IMDB}, " in said


@pytest.mark.parametrize(
    ("n_shared", "code", "words"),
    [
        (50, 0, "50.0%"),
        (51, 1, "more than half of the rows also occur in another split; found 51 of 100 rows of test in train"),
    ],
)
def test_without_a_record_at_most_half_may_be_shared(
    n_shared: int, code: int, words: str, tmp_path: Path, unrecorded: None
) -> None:
    write(tmp_path, TRAIN, lines("train", N_TRAIN))
    write(tmp_path, TEST, lines("train", n_shared) + lines("test", N_TEST)[n_shared:])
    found, said = command("dsc", tmp_path, tmp_path / "out")
    assert found == code
    assert words in said


@pytest.mark.parametrize("options", [(), ("--partial",)], ids=["whole", "partial"])
def test_without_a_record_equal_splits_are_refused(options: tuple[str, ...], tmp_path: Path, unrecorded: None) -> None:
    for place in (TRAIN, TEST):
        write(tmp_path, place, lines("train", N_TRAIN))
    code, said = command("dsc", tmp_path, tmp_path / "out", *options)
    assert code == 1
    assert " 400 rows " in said


def test_the_overlap_is_printed_and_in_the_card(release: Path, records: Upstream, tmp_path: Path) -> None:
    with known(records):
        _, said = command("dsc", release, tmp_path / "a")
    with known(Upstream(files={}, rows={})):
        command("dsc", release, tmp_path / "b")
    assert "7.0%" in said
    for name, is_recorded in (("a", True), ("b", False)):
        card = (tmp_path / name / "README.md").read_text()
        assert "| dsc | test | train | 100 | 7 | 7.0% | " in card
        assert ("| 7.0% | 7 |" in card) == is_recorded


def test_a_part_of_a_release_is_compared_as_far_as_it_goes(release: Path, records: Upstream, tmp_path: Path) -> None:
    with_rows = records.model_copy(update={"files": {TRAIN: FileFacts(rows=N_TRAIN), TEST: FileFacts(rows=N_TEST)}})
    write(tmp_path, TRAIN, lines("train", N_TRAIN)[: N_TRAIN // 2])
    write(tmp_path, TEST, lines("test", N_TEST))
    with known(with_rows):
        assert command("dsc", tmp_path, tmp_path / "whole")[0] == 1
        assert command("dsc", tmp_path, tmp_path / "out", "--partial")[0] == 0
        for mutate in (shift_labels, cut_texts, leak):
            write(tmp_path, TRAIN, lines("train", N_TRAIN)[: N_TRAIN // 2])
            write(tmp_path, TEST, lines("test", N_TEST))
            mutate(tmp_path)
            code, said = command("dsc", tmp_path, tmp_path / "no", "--partial")
            assert (code, f"{DSC}, " in said) == (1, True)
        write(tmp_path, TEST, lines("test", N_TEST))
        write(tmp_path, TRAIN, [f"strange {row}" for row in lines("train", N_TRAIN)[: N_TRAIN // 2]])
        code, said = command("dsc", tmp_path, tmp_path / "no", "--partial")
        assert (code, "rows" in said) == (1, True)


def test_another_revision_is_not_compared(records: Upstream, tmp_path: Path) -> None:
    files = {TRAIN: FileFacts(rows=N_TRAIN, sha256="0" * 64), TEST: FileFacts(rows=N_TEST, sha256="1" * 64)}
    write(tmp_path, TRAIN, lines("train", N_TRAIN))
    write(tmp_path, TEST, lines("other", N_TEST))
    with known(records.model_copy(update={"files": files})):
        assert "checksum" in command("dsc", tmp_path, tmp_path / "out")[1]
        assert command("dsc", tmp_path, tmp_path / "out", "--other-revisions")[0] == 0
    assert Manifest.read(tmp_path / "out").unverified


def test_the_order_of_rows_is_no_deviation(records: Upstream, tmp_path: Path) -> None:
    write(tmp_path, TRAIN, lines("train", N_TRAIN)[::-1])
    write(tmp_path, TEST, lines("test", N_TEST)[::-1])
    with known(records):
        assert command("dsc", tmp_path, tmp_path / "out")[0] == 0


def test_a_task_that_fails_leaves_no_rows_for_the_next(release: Path, tmp_path: Path, unrecorded: None) -> None:
    """Both read the same file: what the first stored is deleted, so the second may store its rows there."""
    task = boss.sentiment.SA_CANDIDATES
    dsc = next(domain for domain in task.domains if domain.name == "dsc")
    test_twice = replace(dsc, files={"train": dsc.files["test"], "test": dsc.files["test"]})
    tasks = (replace(task, domains=(test_twice,)), replace(task, name="again", domains=(dsc,)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BENCHMARKS, "boss", ("BOSS", tasks))  # type: ignore[misc]
        built = build("boss", None, release, tmp_path / "out", placebo=False)
    assert [*built.failed] == ["sa_candidates"]
    assert [*built.manifest.tasks] == ["again"]


def test_folders_without_overlaps_still_open(release: Path, records: Upstream, tmp_path: Path) -> None:
    with known(records):
        build("boss", "sa_candidates.dsc", release, tmp_path / "out")
    path = tmp_path / "out/shiftbench.json"
    manifest = json.loads(path.read_text())
    (overlap,) = manifest["tasks"]["sa_candidates"]["domains"]["dsc"].pop("overlaps")
    assert overlap == {"split": "test", "other": "train", "rows": 100, "repeated": 7, "recorded": 7}
    path.write_text(json.dumps(manifest))
    DatasetFolder.open(tmp_path / "out").check()


def test_the_record_names_every_domain_and_file_and_says_what_was_not_measured() -> None:
    recorded = upstream().domains
    assert set(recorded) == set(list_domains())
    for task in (task for _, tasks in BENCHMARKS.values() for task in tasks):
        for domain in task.domains:
            record = recorded[f"{task.id}.{domain.name}"]
            if record is not None:
                places = {split: {file.path for file in files} for split, files in domain.files.items()}
                whole = {split: {f.path for f in files if not f.partial} for split, files in domain.files.items()}
                assert all(whole[split] <= set(files) <= places[split] for split, files in record.splits.items())
                assert set(record.splits) == set(places)
    measured = {
        Path(path).parts[0]
        for name, record in recorded.items()
        if record is not None and name.partition("/")[0] in ("dr", "boss", "df1")
        for files in record.splits.values()
        for path, found in files.items()
        if found is not None
    }
    assert measured == {
        "absa", "crossner", "e_ner", "hate_speech", "hsol", "mams", "olid", "squad_v2_cs224n", "squadshifts", "sst",
        "wnut17",
    }  # fmt: skip


def test_an_unknown_key_of_a_record_is_refused() -> None:
    with pytest.raises(ValueError, match="Extra"):
        Upstream.model_validate({"files": {}, "rows": {}, "domains": {DSC: {"split": {}}}})


def test_two_domains_with_the_same_rows_are_refused(release: Path, tmp_path: Path, unrecorded: None) -> None:
    task = boss.sentiment.SA_CANDIDATES
    dsc = next(domain for domain in task.domains if domain.name == "dsc")
    copy = replace(dsc, name="copy", files={"test": dsc.files["test"]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BENCHMARKS, "boss", ("BOSS", (replace(task, domains=(dsc, copy)),)))  # type: ignore[misc]
        with pytest.raises(InvalidInput, match=" 100 "):
            build("boss", "sa_candidates", release, tmp_path / "out")
