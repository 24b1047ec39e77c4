"""Building DR's NLI task from upstream files in MultiNLI's form; every pair in them is invented."""

import gzip
import hashlib
import io
import json
import zipfile
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building import build as build_module
from shiftbench.builders.building.build import build, list_domains
from shiftbench.builders.building.report import build_lines
from shiftbench.builders.building.spec_file import SpecSource
from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.specs.spec import FileFacts, TotalFacts, Upstream
from shiftbench.validation.plain_console import print_parts
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

GENRES = ("fiction", "government", "slate", "telephone", "travel")
LABELS = ("entailment", "neutral", "contradiction")
TRAIN, TEST = "multinli_1.0/multinli_1.0_train.jsonl", "multinli_1.0/multinli_1.0_dev_matched.jsonl"


def pairs(genre: str, n_rows: int, start: int = 0) -> list[dict[str, str]]:
    """Build pairs, three a premise."""
    return [
        {
            "gold_label": LABELS[number % 3],
            "genre": genre,
            "sentence1": f"Clerk {number // 3} of the {genre} office sealed letter {number // 3}.",
            "sentence2": f"Somebody sealed {number} letters.",
            "pairID": str(number),
        }
        for number in range(start, start + n_rows)
    ]


def write_lines(path: Path, rows: list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Upstream files as MultiNLI ships them: all genres in one file; travel is the largest and repeats nothing."""
    raw = tmp_path_factory.mktemp("raw")
    train = [row for genre in GENRES for row in pairs(genre, 90 if genre == "travel" else 63)]
    unlabelled = {**pairs("slate", 1, start=900)[0], "gold_label": "-"}
    elsewhere = {**pairs("slate", 1, start=901)[0], "genre": "verbatim"}
    test = [row for genre in GENRES for row in pairs(genre, 12, start=300)]
    write_lines(raw / "multinli_1.0/multinli_1.0_train.jsonl", [*train, unlabelled, elsewhere])
    write_lines(raw / "multinli_1.0/multinli_1.0_dev_matched.jsonl", test)
    return raw


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> Upstream:
    """Record the invented files as the whole upstream."""
    facts = Upstream(
        rows={f"dr/nli.{genre}": {"train": 90 if genre == "travel" else 63, "test": 12} for genre in GENRES},
        files={TRAIN: FileFacts(rows=344), TEST: FileFacts(rows=60)},
    )
    monkeypatch.setattr(build_module, "upstream", lambda: facts)
    return facts


def data_bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted((folder / "data").rglob("*.parquet"))}


def test_a_whole_upstream_gives_domains_of_one_size(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    manifest = build("dr", "nli", raw, tmp_path / "out").manifest
    task = manifest.tasks["nli"]
    sizes = {
        name: {split: split_facts.rows for split, split_facts in domain.splits.items()}
        for name, domain in task.domains.items()
    }
    assert sizes == {genre: {"train": 60, "validation": 3, "test": 12} for genre in GENRES}
    assert not manifest.partial
    assert task.subsets == {"all": 60, "fewshot": 36}
    files = {file.path: file for file in manifest.sources["multinli_1.0"].files}
    assert files[TRAIN].rows == files[TRAIN].recorded_rows == 344
    path = raw / TRAIN
    assert files[TRAIN].sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    folder = DatasetFolder.open(tmp_path / "out")
    folder.check()
    assert "Partial" not in (tmp_path / "out/README.md").read_text()
    row = folder.split("nli", "travel", "test").filter(hypothesis="Somebody sealed 301 letters.")
    assert row["premise"].to_list() == ["Clerk 100 of the travel office sealed letter 100."]
    assert [task.labels[code] for code in row["label"]] == ["neutral"]


def test_every_step_that_a_row_left_by_is_counted(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    counts = build("dr", "nli", raw, tmp_path / "out").manifest.tasks["nli"].transforms
    slate = {
        count.name: (count.before, count.after) for count in counts if (count.domain, count.split) == ("slate", "train")
    }
    assert slate["keep_genre_slate"] == (344, 64)
    assert slate["keep_labelled"] == (64, 63)
    assert "| slate | train | keep_labelled | 64 | 63 |" in (tmp_path / "out/README.md").read_text()
    filled = {
        count.split: (count.before, count.after)
        for count in counts
        if (count.domain, count.name) == ("travel", "fill_to_size")
    }
    assert filled == {"train": (87, 60), "validation": (3, 3)}


def test_one_seed_gives_the_same_bytes_and_another_does_not(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    made = [
        build("dr", "nli", raw, tmp_path / str(number), seed=seed).manifest for number, seed in enumerate((3, 3, 4))
    ]
    first, again, other = (data_bytes(tmp_path / str(number)) for number in range(3))
    assert len(first) == 2 * 15
    assert first == again
    assert made[0] == made[1]
    assert [manifest.seed for manifest in made] == [3, 3, 4]
    assert made[0].content_hash != made[2].content_hash
    assert first.keys() == other.keys()
    assert (
        first["data/nli/travel/train-00000-of-00001.parquet"] != other["data/nli/travel/train-00000-of-00001.parquet"]
    )
    # Upstream decides the test split, so no seed moves it.
    assert all(first[path] == other[path] for path in first if "/test-" in path and "placebo" not in path)


def test_the_order_of_upstream_rows_does_not_matter(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    for path in raw.rglob("*.jsonl"):
        turned = tmp_path / "raw" / path.relative_to(raw)
        turned.parent.mkdir(parents=True, exist_ok=True)
        turned.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    first, second = build("dr", "nli", raw, tmp_path / "a"), build("dr", "nli", tmp_path / "raw", tmp_path / "b")
    assert first.manifest.content_hash == second.manifest.content_hash
    assert data_bytes(tmp_path / "a") == data_bytes(tmp_path / "b")


def test_the_sources_own_folder_is_found_too(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    inside = build("dr", "nli", raw / "multinli_1.0", tmp_path / "a").manifest
    assert inside.content_hash == build("dr", "nli", raw, tmp_path / "b").manifest.content_hash


def test_files_that_differ_from_what_is_recorded_are_refused(
    raw: Path, facts: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    facts.files[TRAIN].rows = 343
    said = {"surplus": refusal(InvalidInput, build, "dr", "nli", raw, tmp_path / "out")}
    facts.files[TRAIN].rows, facts.files[TEST].sha256 = 344, "0" * 64
    found = hashlib.sha256((raw / TEST).read_bytes()).hexdigest()
    said["altered"] = refusal(InvalidInput, build, "dr", "nli", raw, tmp_path / "out").replace(found, "FOUND")
    facts.files[TEST].sha256 = found
    manifest = build("dr", "nli", raw, tmp_path / "whole").manifest
    assert not manifest.partial
    assert not manifest.unverified
    monkeypatch.undo()
    short = refusal(InvalidInput, build, "dr", "nli", raw, tmp_path / "out").splitlines()
    assert len(short) == 2 + 10
    assert said | {"short": short[:3]} == wording
    assert not (tmp_path / "out").exists()


def test_another_revision_may_be_built_and_is_marked(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    facts.files[TEST].sha256 = "0" * 64
    manifest = build("dr", "nli", raw, tmp_path / "out", other_revisions=True).manifest
    assert manifest.unverified
    assert manifest.unverified_files == (TEST,)
    assert not manifest.partial
    facts.files[TEST].rows = 59
    with pytest.raises(InvalidInput, match=r"\b60 .*\b59\b"):
        build("dr", "nli", raw, tmp_path / "other", other_revisions=True)


def test_files_whose_total_is_recorded_are_counted_together(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    records = Upstream(files={}, totals=(TotalFacts(files=(TRAIN, TEST), rows=404),), rows={})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_module, "upstream", lambda: records)
        assert not build("dr", "nli", raw, tmp_path / "out").manifest.unverified
        records.totals = (TotalFacts(files=(TRAIN, TEST), rows=405),)
        what = r"multinli_1.0_train.jsonl, multinli_1.0_dev_matched.jsonl together .* found 404 rows, recorded 405"
        with pytest.raises(InvalidInput, match=what):
            build("dr", "nli", raw, tmp_path / "other")


def test_files_with_nothing_recorded_make_the_folder_unverified(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = Upstream(files={TRAIN: FileFacts(rows=344)}, rows={})
    monkeypatch.setattr(build_module, "upstream", lambda: records)
    built = build("dr", "nli", raw, tmp_path / "out")
    again = DatasetFolder.open(tmp_path / "out").manifest
    assert again.unverified
    assert again.unverified_files == (TEST,)
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert f"| {TEST} | 60 | " in card
    told = io.StringIO()
    print_parts(build_lines(tmp_path / "out", built.manifest, ()), Console(file=told, width=200))
    assert TEST in told.getvalue()
    older = again.model_dump(mode="json")
    del older["unverified"]
    for file in older["sources"]["multinli_1.0"]["files"]:
        del file["unverified"]
    assert not Manifest.model_validate(older).unverified


def test_partial_builds_what_there_is_and_says_so(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    for genre, n_train in (("slate", 40), ("travel", 90)):
        write_lines(tmp_path / f"raw/mnli_genres/{genre}_train.jsonl", pairs(genre, n_train))
        write_lines(tmp_path / f"raw/mnli_genres/{genre}_test.jsonl", pairs(genre, 9, start=300))
    write_lines(tmp_path / "raw/mnli_genres/fiction_train.jsonl", pairs("fiction", 40))
    manifest = build("dr", "nli", tmp_path / "raw", tmp_path / "out", partial=True).manifest
    task = manifest.tasks["nli"]
    assert manifest.partial
    assert list(task.domains) == ["slate", "travel"]
    assert task.absent_domains == ("fiction", "government", "telephone")
    # No domain is cut to another's size, and no few-shot subset is made of two of its three domains.
    assert sum(task.domains["travel"].splits[split].rows for split in ("train", "validation")) == 90
    assert sum(task.domains["slate"].splits[split].rows for split in ("train", "validation")) == 40
    assert task.subsets == {"all": 18}
    assert "nli.fiction" in (tmp_path / "out/README.md").read_text().split("## Not included")[1]
    DatasetFolder.open(tmp_path / "out").check()


def test_missing_files_and_unknown_names_are_told_with_the_way_out(tmp_path: Path, wording: SnapshotAssertion) -> None:
    def of(*name: str, **options: bool) -> str:
        return refusal(InvalidInput, build, *name, tmp_path / "raw", tmp_path / "out", **options)

    said = {"no folder": of("dr", "nli")}
    (tmp_path / "raw").mkdir()
    said |= {
        "no files": of("dr", "nli"),
        "no files, partial": of("dr", "nli", partial=True),
        "no task": of("dr", "nil"),
    }
    said["no benchmark"] = refusal(InvalidInput, build, "rd", None, tmp_path / "raw", tmp_path / "out")
    said |= {f"list {name}": refusal(InvalidInput, list_domains, name) for name in ("rd", "own")}
    assert said == wording
    assert not (tmp_path / "out").exists()


def test_a_bad_line_is_named_and_nothing_written(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    for path in raw.rglob("*.jsonl"):
        copy = tmp_path / "raw" / path.relative_to(raw)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(
            path.read_text().replace('"sentence2": "Somebody sealed 2 ', '"sentence_2": "Somebody sealed 2 ')
        )
    build("dr", "nli", raw, tmp_path / "out")
    before = data_bytes(tmp_path / "out")
    with pytest.raises(InvalidInput, match=r"train\.jsonl, column 'sentence2', row 3: "):
        build("dr", "nli", tmp_path / "raw", tmp_path / "out", overwrite=True)
    assert data_bytes(tmp_path / "out") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "raw"]


def test_listed_domains_are_those_recorded() -> None:
    assert [name for name in list_domains("dr") if "/nli" in name] == [f"dr/nli.{genre}" for genre in GENRES]
    assert set(build_module.upstream().rows) <= set(list_domains())
    tasks = [task for _, tasks in build_module.BENCHMARKS.values() for task in tasks]
    files = [file for task in tasks for domain in task.domains for of in domain.files.values() for file in of]
    places = {str(Path(file.path).with_name(name)) for file in files for name in file.beside}
    places |= {str(form) for file in files for form in forms(Path(file.path))}
    assert set(build_module.upstream().files) <= places
    assert {path for total in build_module.upstream().totals for path in total.files} <= places


def test_sources_say_where_their_records_are_from() -> None:
    records = build_module.upstream()
    every = {
        file.path: file.source
        for _, tasks in build_module.BENCHMARKS.values()
        for task in tasks
        for domain in task.domains
        for of in domain.files.values()
        for file in of
    }
    recorded = {
        source.slug
        for path, source in every.items()
        if any(records.is_recorded(path, str(form)) for form in forms(Path(path)))
    }
    locked = {
        source.slug for source in every.values() if isinstance(source, SpecSource)
    }  # by the file next to the spec
    assert recorded == {source.slug for source in every.values() if source.recorded_from or source.slug in locked}


def forms(path: Path) -> list[Path]:
    """Return the forms that a file may lie in."""
    return [path, path.with_name(path.name + ".gz"), path.with_suffix(".zip")]


def test_ids_do_not_depend_on_what_is_built_with_them(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    write_lines(tmp_path / "raw/mnli_genres/travel_train.jsonl", pairs("travel", 90))
    write_lines(tmp_path / "raw/mnli_genres/travel_test.jsonl", pairs("travel", 12, start=300))
    build("dr", "nli", tmp_path / "raw", tmp_path / "a", partial=True)
    build("dr", "nli", raw, tmp_path / "b")
    alone, whole = (DatasetFolder.open(tmp_path / name).split("nli", "travel", "test") for name in "ab")
    assert isinstance(alone, pl.DataFrame)
    assert alone.equals(whole)


def test_facts_to_record_are_those_found(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    build("dr", "nli", raw, tmp_path / "out", record=tmp_path / "facts.json")
    found = Upstream.model_validate_json((tmp_path / "facts.json").read_text())
    assert found.rows == facts.rows
    assert {path: file.rows for path, file in found.files.items()} == {TRAIN: 344, TEST: 60}
    assert found.files[TRAIN].sha256 == hashlib.sha256((raw / TRAIN).read_bytes()).hexdigest()


def test_gzipped_and_zipped_files_are_found_and_give_the_same_rows(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    folder = tmp_path / "raw/multinli_1.0"
    folder.mkdir(parents=True)
    (folder / f"{Path(TRAIN).name}.gz").write_bytes(gzip.compress((raw / TRAIN).read_bytes()))
    with zipfile.ZipFile(folder / f"{Path(TEST).stem}.zip", "w") as archive:
        archive.write(raw / TEST, Path(TEST).name)
    packed = build("dr", "nli", tmp_path / "raw", tmp_path / "a").manifest
    assert packed.content_hash == build("dr", "nli", raw, tmp_path / "b").manifest.content_hash


def test_a_checksum_is_of_the_file_it_was_taken_of(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    """Test that the same content in another archive format, with another checksum, is no fault."""
    folder = tmp_path / "raw/multinli_1.0"
    folder.mkdir(parents=True)
    for place in (TRAIN, TEST):
        (tmp_path / "raw" / f"{place}.gz").write_bytes(gzip.compress((raw / place).read_bytes()))
    build("dr", "nli", tmp_path / "raw", tmp_path / "a", record=tmp_path / "facts.json")
    facts.files |= Upstream.model_validate_json((tmp_path / "facts.json").read_text()).files
    assert set(facts.files) == {TRAIN, TEST, f"{TRAIN}.gz", f"{TEST}.gz"}
    assert not build("dr", "nli", raw, tmp_path / "b").failed
    (tmp_path / "raw" / f"{TEST}.gz").write_bytes(gzip.compress((raw / TEST).read_bytes(), 1))
    with pytest.raises(InvalidInput, match=r"matched\.jsonl\.gz: .*checksum"):
        build("dr", "nli", tmp_path / "raw", tmp_path / "c")


def test_a_damaged_file_is_told_of_in_a_partial_build_too(raw: Path, facts: Upstream, tmp_path: Path) -> None:
    damaged = tmp_path / "raw/mams/MAMS-ATSA/raw/train.xml"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("<html>no such file</html>")
    (tmp_path / "raw/multinli_1.0").symlink_to(raw / "multinli_1.0")
    built = build("dr", None, tmp_path / "raw", tmp_path / "out", partial=True)
    assert list(built.manifest.tasks) == ["nli", "nli.placebo"]
    assert list(built.failed) == ["ab"]
    assert "train.xml: " in str(built.failed["ab"][0])
    assert built.without_files == ("sa", "qa", "qa_imbalanced", "qg", "as", "tg")


@pytest.mark.real
def test_a_file_stands_for_one_place_only(real_raw: Path, tmp_path: Path) -> None:
    """Test that a source's own folder given as RAW supplies that source's files, not others with like names."""
    manifest = build("dr", "qg", real_raw / "squad_v2", tmp_path / "out", partial=True).manifest
    assert [file.path for file in manifest.sources["squad_v2"].files] == [
        "squad_v2/train-v2.0.json",
        "squad_v2/dev-v2.0.json",
    ]
