"""The public copy: nothing of a closed domain in any of its files, all else as it was, under the same content hash."""

import errno
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.hashes import settings_hash
from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import read_statistics
from shiftbench.builders.publishing.public import closed_domains, public_copy, published_folder
from shiftbench.builders.writing import writer
from shiftbench.scoring.scores.score import checked_predictions, score_file
from shiftbench.validation.report import InvalidInput
from tests.builders.conftest import CLOSED, Mix
from tests.refusals import refusal

WHY = "the licence of Closed texts does not allow publishing its rows"
TASKS_OF_SA = ("sa.kettles", "sa.lamps", "sa.bicycles", "sa.tents")


def files(folder: DatasetFolder) -> dict[str, Path]:
    return {str(path.relative_to(folder.path)): path for path in folder.path.rglob("*") if path.is_file()}


def words(path: Path) -> str:
    """Return all values of a file: those of every column, or its text."""
    if path.suffix == ".png":
        return path.read_bytes().decode("latin-1")
    if path.suffix != ".parquet":
        return path.read_text(encoding="utf-8")
    return "\n".join(map(str, pl.read_parquet(path, glob=False).iter_rows()))


def any_in(secrets: set[str], said: str) -> list[str]:
    """Find those of many texts that stand anywhere in another, all in one pass."""
    found: list[str] = pl.select(pl.lit(said).str.extract_many(sorted(secrets))).item().to_list()
    return found


def secrets(folder: DatasetFolder, closed: tuple[str, ...] = CLOSED) -> set[str]:
    """Return every id, group and text of the closed domains."""
    found: set[str] = set()
    for task, _, domain in (name.partition(".") for name in closed):
        for split in folder.task(task).domains[domain].splits:
            rows = folder.split(task, domain, split)
            for column in ("id", "group", *folder.task(task).inputs):
                found |= set(rows[column].to_list())
    return found


def front_matter(folder: DatasetFolder) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((folder.path / "README.md").read_text().split("---\n")[1])
    return content


def configs(folder: DatasetFolder) -> dict[str, Any]:
    return {config["config_name"]: config for config in front_matter(folder)["configs"]}


def text_of_card(folder: DatasetFolder) -> str:
    return (folder.path / "README.md").read_text().split("---\n", 2)[2]


@pytest.mark.parametrize("closed", [CLOSED, TASKS_OF_SA], ids=["domains", "a whole task"])
def test_nothing_of_a_closed_domain_is_in_any_file(closed: tuple[str, ...], mix: Mix, tmp_path: Path) -> None:
    full = mix(tmp_path / "full", closed)
    public = public_copy(full, tmp_path / "public")
    hidden = secrets(full, closed)
    names = {name.partition(".")[2] for name in closed}
    # The search finds what is there to be found.
    assert sum(bool(any_in(hidden, words(path))) for path in files(full).values()) >= 3 * len(closed)
    for name, path in files(public).items():
        assert not names & set(Path(name).parts)
        assert not names & set(path.stem.split("--"))
        assert not any_in(hidden, words(path)), name


def test_what_stays_is_as_it_was(mixed: DatasetFolder, tmp_path: Path) -> None:
    public = public_copy(mixed, tmp_path / "public")
    public.check()
    assert public.version == mixed.version
    assert public.version.settings is not None
    before, after = files(mixed), files(public)
    rewritten = {"README.md", "croissant.json", "shiftbench.json"}
    rewritten |= {
        f"{path.format(task)}" for task in ("nli", "sa") for path in ("subsets/{}/all.parquet", "statistics/{}.json")
    }
    assert all(path.read_bytes() == before[name].read_bytes() for name, path in after.items() if name not in rewritten)
    assert all(path.samefile(before[name]) for name, path in after.items() if name.startswith(("data/", "depth/")))
    gone = {name.split("/")[1] for name in before.keys() - after.keys()}
    assert gone == {"nli", "sa"}
    # Per task: 3 splits, 4 + 3 depth tables and the subset 'early' of the closed domain.
    assert len(before) - len(after) == 2 * (3 + 7 + 1)
    for task, domain in (("nli", "harbour"), ("sa", "kettles")):
        old, new = mixed.task(task), public.task(task)
        assert new.domains | new.withheld == old.domains
        assert list(new.withheld) == [domain]
        assert (old.subsets, new.subsets) == ({"all": 36, "early": 18, "late": 18}, {"all": 27, "late": 18})
        assert new.withheld_subsets == ("early",)
        expected = mixed.test(task).filter(pl.col("domain") != domain)
        assert public.test(task).equals(expected)
        assert public.subset(task, "all")["id"].to_list() == sorted(expected["id"])


def test_a_public_copy_of_a_public_copy_is_the_same(mixed: DatasetFolder, tmp_path: Path) -> None:
    first = public_copy(mixed, tmp_path / "first")
    second = public_copy(first, tmp_path / "second")
    assert {name: path.read_bytes() for name, path in files(first).items()} == {
        name: path.read_bytes() for name, path in files(second).items()
    }


def test_the_card_says_what_is_missing_and_how_to_get_it(
    mixed: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    public = public_copy(mixed, tmp_path / "public")
    found = configs(public)
    assert list(found) == [
        *("nli", "nli.kitchen", "nli.orchard", "nli.workshop", "nli.depth"),
        *("sa", "sa.lamps", "sa.bicycles", "sa.tents", "sa.depth"),
    ]
    text = text_of_card(public)
    *_, last = text.split("\n## ")
    assert last.replace(mixed.content_hash, "HASH") == wording
    assert 'load_dataset("DIR", "nli.kitchen")["train"][0]' in text


def test_the_card_of_the_full_folder_marks_what_is_for_own_use(
    mixed: DatasetFolder, wording: SnapshotAssertion
) -> None:
    assert "nli.harbour" in configs(mixed)
    text = text_of_card(mixed)
    (line,) = [line for line in text.splitlines() if line.startswith("| `nli.harbour` | 20")]
    *_, last = text.split("\n## ")
    assert [line, last] == wording


def test_a_task_that_is_all_closed_keeps_a_section_without_configs(mix: Mix, tmp_path: Path) -> None:
    public = public_copy(mix(tmp_path / "full", TASKS_OF_SA), tmp_path / "public")
    public.check()
    assert not [name for name in configs(public) if name.startswith("sa")]
    assert not [name for name in files(public) if "/sa/" in name]
    assert "## sa: " in text_of_card(public)
    assert public.task("sa").subsets == {}
    with pytest.raises(InvalidInput, match=r"'sa' .*kettles, lamps, bicycles, tents"):
        public.test("sa")


def test_a_folder_of_closed_domains_only_is_refused(mix: Mix, tmp_path: Path, wording: SnapshotAssertion) -> None:
    nli = tuple(f"nli.{domain}" for domain in ("harbour", "kitchen", "orchard", "workshop"))
    full = mix(tmp_path / "full", (*nli, *TASKS_OF_SA))
    assert refusal(InvalidInput, public_copy, full, tmp_path / "public") == wording
    assert not (tmp_path / "public").exists()


def test_statistics_and_nothing_foreign_come_along(mixed: DatasetFolder, tmp_path: Path) -> None:
    for name in ("statistics/notes.txt", "data/nli/kitchen/backup.csv"):
        (mixed.path / name).write_text("{}")
    assert read_statistics(mixed.path, "nli").duplicates.examples
    public = public_copy(mixed, tmp_path / "public")
    assert {name for name in files(public) if name.startswith("statistics")} == {
        f"statistics/{task}.{suffix}" for task in ("nli", "sa") for suffix in ("json", "png")
    }
    assert "data/nli/kitchen/backup.csv" not in files(public)
    # Figures of all domains stay; examples of duplicates would name rows of the closed ones.
    before, after = (read_statistics(folder.path, "nli") for folder in (mixed, public))
    assert after.domains == before.domains
    assert not after.duplicates.examples


def test_a_folder_without_depth(mixed: DatasetFolder, tmp_path: Path) -> None:
    without = {"encoder": None, "settings_hash": settings_hash(mixed.manifest.tasks, None)}
    mixed.manifest.model_copy(update=without).write(mixed.path)
    public = public_copy(DatasetFolder.open(mixed.path), tmp_path / "public")
    public.check()
    assert not [name for name in files(public) if name.startswith("depth")]


def test_every_shard_comes_along(mix: Mix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "SHARD_BYTES", 2**11)
    full = mix(tmp_path / "full")
    public = public_copy(full, tmp_path / "public")
    public.check()
    assert public.version == full.version
    shards = [name for name in files(public) if name.startswith("data/nli/kitchen/train-")]
    assert len(shards) > 1
    assert {name for name in files(full) if name.startswith("data/nli/kitchen/train-")} == set(shards)


def test_rows_are_copied_where_they_cannot_be_linked(
    mixed: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(os, "link", refuse)
    public_copy(mixed, tmp_path / "public").check()


def test_what_is_in_the_way_is_not_touched(mixed: DatasetFolder, tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public/thesis.txt").write_text("years of work")
    with pytest.raises(InvalidInput, match="empty"):
        public_copy(mixed, tmp_path / "public")
    assert [path.name for path in (tmp_path / "public").iterdir()] == ["thesis.txt"]


def test_the_folder_itself_is_given_where_all_may_be_published(synthetic: DatasetFolder, mixed: DatasetFolder) -> None:
    assert closed_domains(synthetic.manifest) == {}
    with published_folder(synthetic) as given:
        assert given is synthetic
    assert closed_domains(mixed.manifest) == dict.fromkeys(CLOSED, WHY)
    with published_folder(mixed) as given:
        assert given.path != mixed.path
        assert closed_domains(given.manifest) == {}
    assert not given.path.exists()
    assert [path.name for path in mixed.path.parent.iterdir()] == ["mixed"]


def predictions(folder: DatasetFolder, source: str, out: Path) -> Path:
    ids = folder.test("nli").select("id", source=pl.lit(source), prediction=pl.lit("neutral"))
    ids.write_parquet(out)
    return out


def test_predictions_for_a_withheld_domain_are_refused_in_words(
    mixed: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    public = public_copy(mixed, tmp_path / "public")
    file = predictions(mixed, "kitchen", tmp_path / "targets.parquet")
    said = [refusal(InvalidInput, checked_predictions, file, public)]
    file = predictions(public, "harbour+kitchen", tmp_path / "sources.parquet")
    assert [*said, refusal(InvalidInput, checked_predictions, file, public)] == wording


def test_predictions_for_what_is_there_are_scored(mixed: DatasetFolder, tmp_path: Path) -> None:
    public = public_copy(mixed, tmp_path / "public")
    file = predictions(public, "kitchen", tmp_path / "predictions.parquet")
    (task,) = score_file(file, public).tasks
    assert task.domains == ("kitchen", "orchard", "workshop")
    # The same file is a part of the grid of the full folder, which names what is missing.
    with_gaps = score_file(file, mixed)
    assert with_gaps.tasks[0].domains == ("harbour", "kitchen", "orchard", "workshop")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda facts: facts | {"rebuild_only": False},
            "nli.harbour has a value of rebuild_only that does not match the licences of its sources",
        ),
        (lambda facts: facts | {"sources": ["gone"]}, "nli.harbour is made from a source that is not listed: gone"),
    ],
)
def test_a_manifest_that_contradicts_its_licences_is_damaged(change: Any, expected: str, mixed: DatasetFolder) -> None:
    content = mixed.manifest.model_dump(mode="json")
    content["tasks"]["nli"]["domains"]["harbour"] = change(content["tasks"]["nli"]["domains"]["harbour"])
    with pytest.raises(ValueError, match=expected):
        Manifest.model_validate(content)
