"""croissant.json: one record set a config; mlcroissant, where installed, validates it and reads the rows with it."""

import fnmatch
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.publication import Publication
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import TaskStatistics, data_path, read_statistics
from shiftbench.builders.publishing.public import public_copy
from shiftbench.builders.publishing.published_texts import published_texts
from shiftbench.builders.writing import writer
from shiftbench.builders.writing.croissant import croissant
from tests.builders.conftest import CLOSED, Mix


@pytest.fixture
def mlcroissant() -> Any:
    return pytest.importorskip("mlcroissant", reason="mlcroissant is not installed: croissant.json is not validated")


def read(folder: DatasetFolder) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder.path / "croissant.json").read_text(encoding="utf-8"))
    return content


def statistics_of(folder: DatasetFolder) -> dict[str, TaskStatistics]:
    names = [name for name in folder.manifest.tasks if (folder.path / data_path(name)).is_file()]
    return {name: read_statistics(folder.path, name) for name in names}


def by_id(nodes: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {node["@id"]: node for node in nodes}
    assert len(found) == len(nodes)
    return found


def plain(value: Any) -> Any:
    """Convert a value of mlcroissant to our form: text not as bytes, keys without their record set."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {key.rpartition("/")[2]: plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(each) for each in value] if isinstance(value, list) else value


def records(mlcroissant: Any, folder: DatasetFolder, config: str, split: str | None = None) -> list[dict[str, Any]]:
    dataset = mlcroissant.Dataset(str(folder.path / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    assert not issues.errors
    # Only a publisher knows the date of publication.
    assert all("datePublished" in warning for warning in map(str, issues.warnings))
    filters = {f"{config}/split": split} if split else None
    return [plain(row) for row in dataset.records(config, filters=filters)]


def test_configs_files_and_columns_are_those_of_the_card(synthetic: DatasetFolder, grid: DatasetFolder) -> None:
    for folder in (synthetic, grid):
        card = yaml.safe_load((folder.path / "README.md").read_text().split("---\n")[1])
        content = read(folder)
        sets, files = by_id(content["recordSet"]), by_id(content["distribution"])
        for config, info in zip(card["configs"], card["dataset_info"], strict=True):
            name = config["config_name"]
            assert files[f"Files/{name}"]["includes"] == [each["path"] for each in config["data_files"]]
            columns = [field["name"] for field in sets[name]["field"]]
            split = [] if name.endswith(".depth") else ["split"]
            assert columns == [*split, *(feature["name"] for feature in info["features"])]
        assert len(sets) == len(card["configs"]) + 1 + sum(bool(task.labels) for task in folder.manifest.tasks.values())


def test_every_file_of_rows_is_in_the_sets_of_its_domain_and_task_alone(synthetic: DatasetFolder) -> None:
    sets = by_id(read(synthetic)["distribution"])
    for path in (synthetic.path / "data").rglob("*.parquet"):
        name = str(path.relative_to(synthetic.path))
        _, task, domain, _ = name.split("/")
        found = {id_ for id_, each in sets.items() if any(fnmatch.fnmatch(name, glob) for glob in each["includes"])}
        assert found == {f"Files/{task}", f"Files/{task}.{domain}"}


def test_labels_are_named(synthetic: DatasetFolder) -> None:
    sets = by_id(read(synthetic)["recordSet"])
    names = [
        {"Labels/nli/code": code, "Labels/nli/name": name} for code, name in enumerate(synthetic.task("nli").labels)
    ]
    assert sets["Labels/nli"]["data"] == names
    (label,) = (field for field in sets["nli.harbour"]["field"] if field["name"] == "label")
    assert "'Labels/nli'" in label["description"]


def test_it_follows_from_the_manifest(synthetic: DatasetFolder, tmp_path: Path) -> None:
    text = (synthetic.path / "croissant.json").read_text(encoding="utf-8")
    assert text == croissant(synthetic.manifest, statistics_of(synthetic))
    assert str(synthetic.path) not in text
    build_synthetic(tmp_path / "elsewhere", n_train=30, n_test=12)
    build_synthetic(tmp_path / "again", n_train=30, n_test=12)
    one, two = ((tmp_path / name / "croissant.json").read_bytes() for name in ("elsewhere", "again"))
    assert one == two


def test_a_public_copy_says_nothing_of_closed_domains(mix: Mix, tmp_path: Path) -> None:
    full = mix(tmp_path / "full")
    public = public_copy(full, tmp_path / "public")
    before, after = read(full), read(public)
    assert before["license"] == ["Closed texts, licence: research use only", "Open texts, licence: CC0"]
    assert after["license"] == ["Open texts, licence: CC0"]
    assert "Closed texts" not in json.dumps(after)
    assert before["identifier"] == after["identifier"] == full.content_hash
    gone = by_id(before["recordSet"]).keys() - by_id(after["recordSet"]).keys()
    assert gone == set(CLOSED)
    assert "README.md" in after["description"]


def test_papers_are_cited(synthetic: DatasetFolder) -> None:
    assert read(synthetic)["citeAs"].startswith("@misc{seegmiller-etal-2024-depth")
    dr = synthetic.manifest.model_copy(update={"benchmark": "dr"})
    assert json.loads(croissant(dr, {}))["citeAs"].startswith("@inproceedings{calderon-etal-2024-measuring")


def test_mlcroissant_validates_and_reads_rows(mlcroissant: Any, synthetic: DatasetFolder) -> None:
    found = records(mlcroissant, synthetic, "nli.harbour")
    expected = [
        {"split": split, **row}
        for split in sorted(synthetic.task("nli").domains["harbour"].splits)
        for row in synthetic.split("nli", "harbour", split).iter_rows(named=True)
    ]
    assert found == expected
    for config in ("nli.harbour", "nli"):
        test = records(mlcroissant, synthetic, config, "test")
        domains = ["harbour"] if "." in config else sorted(synthetic.task("nli").domains)
        assert [row["id"] for row in test] == [
            id_ for domain in domains for id_ in synthetic.split("nli", domain, "test")["id"]
        ]
    assert len(records(mlcroissant, synthetic, "nli.depth")) == 4 * 4 * (78 + 30) + 4 * 3 * 78
    assert [row["name"] for row in records(mlcroissant, synthetic, "Labels/nli")] == list(synthetic.task("nli").labels)


@pytest.mark.parametrize("config", ["ab.d0", "qa.d0", "qg.d0", "tg.d1"])
def test_mlcroissant_reads_every_task_kind(config: str, mlcroissant: Any, grid: DatasetFolder) -> None:
    found = records(mlcroissant, grid, config, "test")
    expected = list(grid.split(*config.split("."), "test").iter_rows(named=True))
    assert [{key: value for key, value in row.items() if key != "split"} for row in found] == expected


def test_mlcroissant_reads_shards_and_public_copies(
    mlcroissant: Any, mix: Mix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "SHARD_BYTES", 2**11)
    full = mix(tmp_path / "full")
    assert {row["domain"] for row in records(mlcroissant, full, "nli", "test")} == set(full.task("nli").domains)
    public = public_copy(full, tmp_path / "public")
    assert len(public.files("data/nli/kitchen/train-*.parquet")) > 1
    found = records(mlcroissant, public, "nli", "train")
    assert [row["id"] for row in found] == [
        id_ for domain in sorted(public.task("nli").domains) for id_ in public.split("nli", domain, "train")["id"]
    ]


def test_licences_are_addresses_where_there_are_any(synthetic: DatasetFolder) -> None:
    assert read(synthetic)["license"] == ["https://spdx.org/licenses/Apache-2.0.html"]
    source = synthetic.manifest.sources["generated"]
    for facts, licence in (
        ({"spdx": None, "licence_url": "https://example.org/terms"}, "https://example.org/terms"),
        ({"spdx": "CC-BY-3.0 AND CC-BY-SA-3.0", "licence": "both"}, f"{source.title}, licence: both"),
    ):
        changed = synthetic.manifest.model_copy(update={"sources": {"generated": source.model_copy(update=facts)}})
        assert json.loads(croissant(changed, {}))["license"] == [licence]


def test_what_is_known_and_measured_is_said_in_the_terms_of_responsible_ai(
    mixed: DatasetFolder, wording: SnapshotAssertion
) -> None:
    open_, closed = mixed.manifest.sources["open"], mixed.manifest.sources["closed"]
    known = {"harm": "slurs", "personal_data": "names", "annotators": "two experts"}
    sources = {"open": open_.model_copy(update=known), "closed": closed}
    manifest = mixed.manifest.model_copy(update={"sources": sources})
    content = json.loads(croissant(manifest, statistics_of(mixed)))
    assert content["conformsTo"][1] == "http://mlcommons.org/croissant/RAI/1.0"
    assert {key: value for key, value in content.items() if key.startswith("rai:")} == wording
    assert not {"rai:annotationsPerItem", "rai:dataReleaseMaintenancePlan"} & set(content)
    untold = json.loads(croissant(mixed.manifest, {}))
    assert not {"rai:dataSocialImpact", "rai:dataAnnotationProtocol", "rai:dataBiases"} & set(untold)


def test_a_published_folder_is_valid_without_a_warning(mlcroissant: Any, mix: Mix, tmp_path: Path) -> None:
    folder = mix(tmp_path / "mixed", ())
    authors = ({"family-names": "Doe", "given-names": "Jane"}, {"name": "Data Ltd", "website": "https://example.org"})
    facts = {"title": "Tickets", "authors": authors, "date-released": "2026-11-23"}
    publication = Publication.model_validate(facts | {"contact": [{"email": "data@example.org"}]})
    for name, text in published_texts(folder, publication, "org/demo", "https://hub.example.org").items():
        (folder.path / name).write_text(text, encoding="utf-8")
    published = DatasetFolder.open(folder.path)
    dataset = mlcroissant.Dataset(str(folder.path / "croissant.json"))
    assert (dataset.metadata.ctx.issues.errors, dataset.metadata.ctx.issues.warnings) == (set(), set())
    assert [author.name for author in dataset.metadata.creators] == ["Jane Doe", "Data Ltd"]
    assert dataset.metadata.date_published.isoformat() == "2026-11-23T00:00:00"
    assert dataset.metadata.url == "https://hub.example.org/datasets/org/demo"
    assert dataset.metadata.cite_as.startswith("@misc{doe-2026-tickets,")
    assert "data@example.org" in dataset.metadata.data_release_maintenance_plan
    assert dataset.metadata.data_biases
    page = {"url": "https://hub.example.org/datasets/org/demo"}
    assert published.manifest.publication == publication.model_copy(update=page)
    assert len(records(mlcroissant, published, "nli", "test")) == 36
