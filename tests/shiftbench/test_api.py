"""Opening from the Hub, validating, how many are compared, and data of one's own."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import shiftbench as sb
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.notices import FormerName
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.conftest import Filled
from tests.refusals import refusal


def test_a_name_on_the_hub_is_downloaded(
    synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def snapshot_download(repo_id: str, **options: str) -> str:
        asked.append((repo_id, options["repo_type"], options["revision"]))
        return str(synthetic.path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    monkeypatch.chdir(tmp_path)
    assert sb.open_dataset("acme/data", revision="v1").content_hash == synthetic.content_hash
    assert asked == [("acme/data", "dataset", "v1")]
    Path("acme").mkdir()
    Path("acme/data").symlink_to(synthetic.path)
    assert sb.open_dataset("acme/data").path == Path("acme/data")
    for no_name in ("./acme", "acme/data/dr", "/acme"):
        with pytest.raises(InvalidInput):
            sb.open_dataset(no_name)
    assert len(asked) == 1, "a folder here, and what is no name, are asked of no Hub"


def test_validating_says_which_runs_are_sound(filled: Filled) -> None:
    runs = sb.validate(filled.files["partial"], filled.folder, card=filled.card("partial"))
    assert runs.columns == ["task", "source", "target", "seed", "n", "unparsed"]
    domains = list(filled.folder.task("nli").domains)
    assert set(runs.select("source", "target").iter_rows()) == {(a, b) for a in domains[:2] for b in domains}
    assert runs["n"].to_list() == [60] * 8
    other = {**filled.card("partial").as_dict(), "data": "0" * 64}
    with pytest.raises(InvalidInput, match="000000000000"):
        sb.validate(filled.files["partial"], filled.folder, card=other)


def test_cards_beside_files_say_how_much_was_tuned(filled: Filled, tmp_path: Path) -> None:
    for name, trials in (("good", 12), ("poor", 1)):
        shutil.copy(filled.files[name], tmp_path / f"{name}.parquet")
        facts = {"name": name, "paradigm": "other", "tuning_trials": trials, "data": filled.folder.content_hash}
        (tmp_path / f"{name}.card.yaml").write_text(json.dumps(facts))
    files = {name: tmp_path / f"{name}.parquet" for name in ("good", "poor")}
    found = sb.compare(files, filled.folder)
    with pytest.warns(FormerName, match="resampling"):
        assert sb.compare(files, filled.folder, n_swaps=100, seed=3).comparisons == found.comparisons
    (pair,) = found.comparisons
    assert (pair.tuning_trials_a, pair.tuning_trials_b) == (12, 1)


@pytest.mark.parametrize("number", [1, 5])
def test_two_to_four_entries_are_compared(number: int, filled: Filled) -> None:
    with pytest.raises(InvalidInput, match=f"found {number}; give 2 to 4"):
        sb.compare({str(n): filled.files["good"] for n in range(number)}, filled.folder)


OWN = pl.DataFrame(
    [(site, n % 2 == 0, f"{site} visit {n}", f"d{n}") for site in ("Sci Fi", "shop") for n in range(30)],
    schema=["site", "verdict", "body", "document"],
    orient="row",
)


def test_own_data_is_built_once_for_the_same_rows(tmp_path: Path) -> None:
    columns = {"domain": "site", "label": "verdict", "text": "body", "group": "document"}
    folder = sb.build_own(OWN, **columns)
    assert sb.build_own(OWN.to_pandas(), **columns).path == folder.path
    assert sb.build_own(OWN, **columns, seed=1).path != folder.path
    OWN.write_csv(tmp_path / "own.csv")
    there = sb.build_own(str(tmp_path / "own.csv"), **columns, out=str(tmp_path / "own"))
    assert (there.path, there.content_hash) == (tmp_path / "own", folder.content_hash)
    assert there.task("own").labels == ("false", "true")
    with pytest.raises(InvalidInput, match="overwrite"):
        sb.build_own(OWN, **columns, out=tmp_path / "own")


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    said = {}
    for case, (change, columns) in {
        "absent": ({}, {"text": "boddy"}),
        "twice": ({}, {"domain": "verdict"}),
        "one-domain": ({"site": pl.lit("shop")}, {}),
        "null": ({"body": pl.lit(None, pl.String)}, {}),
        "three-texts": ({}, {"text": ("body", "body", "body")}),
        "list": ({"body": pl.concat_list("body")}, {}),
    }.items():
        named: dict[str, Any] = {"domain": "site", "label": "verdict", "text": "body", **columns}
        said[case] = refusal(InvalidInput, sb.build_own, OWN.with_columns(**change), **named, out=tmp_path / "own")
        assert not (tmp_path / "own").exists()
    from huggingface_hub.errors import OfflineModeIsEnabled

    def snapshot_download(repo_id: str, **_: str) -> str:
        raise OfflineModeIsEnabled

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    said["not on the Hub"] = refusal(InvalidInput, sb.open_dataset, "build/dr")
    assert said == wording


def test_pairs_of_texts(tmp_path: Path) -> None:
    pairs = OWN.with_columns(claim=pl.col("body") + "!")
    folder = sb.build_own(pairs, domain="site", label="verdict", text=("body", "claim"), out=tmp_path / "own")
    assert folder.task("own").inputs == ("premise", "hypothesis")
    assert (folder.test("own")["hypothesis"] == folder.test("own")["premise"] + "!").all()
