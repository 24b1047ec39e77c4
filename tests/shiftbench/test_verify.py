"""A claim is checked again from its files: what agrees, what was changed, what other metrics moved, what is missing."""

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import Result
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.claims import find_files
from shiftbench.cli.command import app
from shiftbench.scoring.comparing.claims import read_claim
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.conftest import Filled
from tests.refusals import refusal
from tests.scoring.comparing.test_files import predictions
from tests.scoring.interchange.mutations import mutated_bytes, mutated_values
from tests.shiftbench.checked import stable

Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def made(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two prediction files and the claim about them."""
    place = tmp_path_factory.mktemp("claim")
    domains = list(synthetic.task("nli").domains)
    for name, error, seed in (("good", 0.05, 0), ("bad", 0.6, 1)):
        predictions(synthetic, error, domains, seed).write_csv(place / f"{name}.csv")
    files = [str(place / "good.csv"), str(place / "bad.csv")]
    options = ["--data", str(synthetic.path), "--names", "Good,Bad"]
    assert run("compare", *files, *options, "--json", str(place / "claim.json")).exit_code == 0
    return place


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def verified(made: Path, tmp_path: Path, change: Change, *options: str) -> Result:
    """Verify a changed claim, which lies apart from its files, on the data of the first."""
    content = json.loads((made / "claim.json").read_text())
    change(content)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(content))
    data = json.loads((made / "claim.json").read_text())["data"]
    return run("verify", str(path), "--files", str(made), "--data", data, *options)


def disagreements(result: Result) -> list[str]:
    """Return what was printed but for the figures that agree."""
    lines = stable(result.stdout).splitlines()
    return [line for line in lines if "agrees" not in line and not re.match(r"nli .*(over|->)", line)]


def ranked(claim: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in claim["comparisons"][0]["means"] if each["ranked"])["difference"]
    return found


def test_a_claim_states_all_that_it_takes_to_check_it(
    made: Path, synthetic: DatasetFolder, wording: SnapshotAssertion
) -> None:
    claim = json.loads((made / "claim.json").read_text())
    (pair,) = claim["comparisons"]
    assert claim["hypothesis"] == wording
    assert [len(entry["sha256"]) for entry in claim["entries"]] == [64, 64]
    assert (pair["data"], pair["n_swaps"], pair["seed"]) == (synthetic.content_hash, None, None)
    assert pair["depth_encoder"] == "word-encoder@1"


def test_a_true_claim_holds_wherever_its_files_are(made: Path, tmp_path: Path) -> None:
    data = json.loads((made / "claim.json").read_text())["data"]
    found = json.loads(run("verify", str(made / "claim.json"), "--data", data, "--json", "-").stdout)
    assert found["holds"]
    assert {each["status"] for each in found["figures"]} == {"agrees"}
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("good.csv", "bad.csv"):
        shutil.copy(made / name, moved)

    def forget(claim: dict[str, Any]) -> None:
        for entry in claim["entries"]:
            entry["file"] = f"gone/{Path(entry['file']).name}"

    result = verified(made, tmp_path, forget, "--files", str(moved))
    assert result.exit_code == 0, result.output
    assert "41 figures: 41 " in result.stdout


def changed_value(claim: dict[str, Any]) -> None:
    ranked(claim)["value"] += 0.02


def changed_p(claim: dict[str, Any]) -> None:
    ranked(claim)["p_corrected"] = 0.3


def changed_hypothesis(claim: dict[str, Any]) -> None:
    claim["hypothesis"] = ["Good is the better recipe."]


def changed_about(claim: dict[str, Any]) -> None:
    claim["comparisons"][0]["tasks"][0]["about"] = "recipes"


def changed_size(claim: dict[str, Any]) -> None:
    claim["comparisons"][0]["shifts"][0]["n"] = 3000


def dropped_shift(claim: dict[str, Any]) -> None:
    del claim["comparisons"][0]["shifts"][3]


def test_a_claim_that_was_changed_does_not_hold(made: Path, tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {}
    for change in (changed_value, changed_p, changed_hypothesis, changed_about, changed_size, dropped_shift):
        result = verified(made, tmp_path, change)
        assert result.exit_code == 3, result.output
        said[change.__name__] = disagreements(result)
    assert said == wording


def test_after_rescoring_figures_may_move_and_conclusions_must_stand(
    made: Path, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    def older(claim: dict[str, Any]) -> None:
        claim["comparisons"][0]["metric_version"] = "4"
        ranked(claim)["value"] -= 0.01

    result = verified(made, tmp_path, older)
    assert result.exit_code == 0, result.output
    assert f"4 -> {METRIC_VERSION}:" in result.stdout
    said = [disagreements(result)]

    def without_skill(claim: dict[str, Any]) -> None:
        older(claim)
        claim["comparisons"][0]["tasks"][0]["at_floor"] = "b"

    result = verified(made, tmp_path, without_skill)
    assert result.exit_code == 0  # what shows no skill may move with the metric, too
    assert "[{" in result.stdout

    def reversed_(claim: dict[str, Any]) -> None:
        older(claim)
        ranked(claim)["value"] *= -1

    result = verified(made, tmp_path, reversed_)
    assert result.exit_code == 3
    assert [*said, disagreements(result)] == wording


def test_entries_of_a_store_are_found_by_id(filled: Filled, tmp_path: Path) -> None:
    files = [str(filled.store.predictions(filled.entries[name])) for name in ("good", "poor")]
    path = tmp_path / "claim.json"
    options = ["--data", str(filled.folder.path), "--names", "Good,Poor"]
    assert run("compare", *files, *options, "--json", str(path)).exit_code == 0
    claim = json.loads(path.read_text())
    for entry, name in zip(claim["entries"], ("good", "poor"), strict=True):
        entry |= {"entry": filled.entries[name].id, "file": f"{name}.parquet"}
    path.write_text(json.dumps(claim))
    with pytest.raises(InvalidInput, match="missing"):
        run("verify", str(path), "--data", str(filled.folder.path))
    trials = [filled.entries[name].card.tuning_trials for name in ("good", "poor")]
    claim["comparisons"][0] |= {"tuning_trials_a": trials[0], "tuning_trials_b": 7}
    path.write_text(json.dumps(claim))
    result = run("verify", str(path), "--data", str(filled.folder.path), "--store", str(filled.store.root))
    assert f"tuning_trials_b differs: claimed 7; found {trials[1]}" in result.stdout
    assert "41 figures: 41 " in result.stdout


def test_after_rescoring_the_scores_of_then_are_still_checked(filled: Filled, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(filled.store.root, store)
    shutil.copytree(store / "scores" / METRIC_VERSION, store / "scores" / "4")
    ids = [filled.entries[name].id for name in ("good", "poor")]
    files = [str(store / "entries" / identity / "predictions.parquet") for identity in ids]
    path = tmp_path / "claim.json"
    options = ["--data", str(filled.folder.path), "--names", "Good,Poor"]
    assert run("compare", *files, *options, "--json", str(path)).exit_code == 0
    claim = json.loads(path.read_text())
    for entry, identity in zip(claim["entries"], ids, strict=True):
        entry["entry"] = identity
    cards = [filled.entries[name].card for name in ("good", "poor")]
    trials = {f"tuning_trials_{side}": card.tuning_trials for side, card in zip("ab", cards, strict=True)}
    claim["comparisons"][0] |= {"metric_version": "4", **trials}
    path.write_text(json.dumps(claim))
    data = ["--data", str(filled.folder.path)]
    assert run("verify", str(path), *data, "--store", str(store)).exit_code == 0
    shift = claim["comparisons"][0]["shifts"][0]
    shift["differences"][0]["value"] += 0.03
    path.write_text(json.dumps(claim))
    assert run("verify", str(path), *data).exit_code == 0  # without the store nobody knows the scores of then
    result = run("verify", str(path), *data, "--store", str(store))
    assert result.exit_code == 3
    assert f" {shift['source']} -> {shift['target']}, Good - Poor " in result.stdout


def test_what_cannot_be_checked_is_refused(
    made: Path, tmp_path: Path, synthetic: DatasetFolder, wording: SnapshotAssertion
) -> None:
    def renamed(claim: dict[str, Any]) -> None:
        claim["entries"][1]["name"] = "Worse"

    said = {"renamed": refusal(InvalidInput, verified, made, tmp_path, renamed)}

    def swapped(claim: dict[str, Any]) -> None:
        first, second = claim["entries"]
        first["file"], second["file"] = second["file"], first["file"]

    said["swapped"] = re.sub(r"[0-9a-f]{12,}", "SHA", refusal(InvalidInput, verified, made, tmp_path, swapped))

    def older_data(claim: dict[str, Any]) -> None:
        claim["comparisons"][0]["data"] = "0" * 64

    with pytest.raises(InvalidInput, match="0000"):
        verified(made, tmp_path, older_data)
    cut = tmp_path / "cut.json"
    cut.write_text((made / "claim.json").read_text().partition('"comparisons"')[0])
    said["cut"] = refusal(InvalidInput, run, "verify", str(cut))
    cut.write_text('{"comparisons": []}')
    said["no keys"] = refusal(InvalidInput, run, "verify", str(cut))
    assert said == wording


def test_a_claim_leads_to_no_file_outside_its_folder(made: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("root:hash")
    folder = tmp_path / "claim"
    folder.mkdir()
    (folder / "link.csv").symlink_to(secret)
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    content = json.loads((made / "claim.json").read_text())
    for name in ("/etc/passwd", str(secret), "../secret.csv", "link.csv", "loop.csv", "/dev/stdin", ".", ""):
        for entry in content["entries"]:
            entry["file"] = name
        path = folder / "claim.json"
        path.write_text(json.dumps(content))
        for files in (None, folder):
            with pytest.raises(InvalidInput, match="missing") as refused:
                find_files(read_claim(path), path, files, None)
            assert "SHA-256" not in str(refused.value)
    content["data"] = str(secret)
    path.write_text(json.dumps(content))
    result = run("verify", str(path))
    assert result.exit_code == 2
    assert "--data" in result.output


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_swaps", 2_000_000_000),
        ("n_swaps", 0),
        ("n_swaps", "400"),
        ("seed", -1),
        ("seed", 2**64),
        ("tuning_trials_a", 10**16),
        ("tuning_trials_a", -1),
        ("subset", "all\x1b[2J"),
        ("metric_version", "\u202e5"),
        ("margin", float("inf")),
    ],
)
def test_a_claim_with_an_odd_value_is_refused_before_any_work(
    made: Path, tmp_path: Path, field: str, value: object
) -> None:
    def change(claim: dict[str, Any]) -> None:
        claim["comparisons"][0][field] = value

    with pytest.raises(InvalidInput, match=f"'comparisons.0.{field}'"):
        verified(made, tmp_path, change)


def test_former_options_are_accepted_and_change_nothing(made: Path, synthetic: DatasetFolder) -> None:
    files = [str(made / "good.csv"), str(made / "bad.csv")]
    options = ["--data", str(synthetic.path), "--names", "Good,Bad"]
    result = run("compare", *files, *options, "--swaps", "500", "--seed", "3", "--json", "-")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["comparisons"] == json.loads((made / "claim.json").read_text())["comparisons"]
    assert "--swaps:" in result.stderr


def test_a_claim_of_metric_version_6_is_read_and_its_figures_have_moved(made: Path, tmp_path: Path) -> None:
    """A claim without intervals and failed runs, with swaps and p values of then."""

    def older(claim: dict[str, Any]) -> None:
        pair = claim["comparisons"][0]
        pair |= {"metric_version": "6", "n_swaps": 20_000, "seed": 0}
        differences = [each for shift in pair["shifts"] for each in shift["differences"]]
        for each in (*differences, *(mean["difference"] for mean in pair["means"])):
            each["p_others"] = each["p"]
            for name in ("low", "high", "detectable", "no_interval"):
                del each[name]
        for task in pair["tasks"]:
            for name in ("run_scores_a", "run_scores_b", "failures_a", "failures_b"):
                del task[name]

    result = verified(made, tmp_path, older)
    assert result.exit_code == 0, result.output
    assert f"6 -> {METRIC_VERSION}:" in result.stdout
    assert "differs" not in result.stdout


def test_a_damaged_claim_is_refused_in_words(made: Path, tmp_path: Path) -> None:
    """Each mutation of a claim is read, or refused with what, where and a cure."""
    sound = (made / "claim.json").read_bytes()
    rng, path = random.Random(1), tmp_path / "claim.json"
    values = ((what, text.encode()) for what, text in mutated_values(json.loads(sound), rng, 120))
    wordless: list[str] = []
    n_read = 0
    for what, content in (*values, *mutated_bytes(sound, rng, 30)):
        path.write_bytes(content)
        try:
            claim = read_claim(path)
            find_files(claim, path, made, None)
            n_read += 1
        except InvalidInput as refused:
            wordless += [what for each in refused.problems if not (each.file and (each.found or each.cure))]
    assert not wordless
    assert 0 < n_read < 100


def test_a_claim_about_a_file_says_how_it_was_read(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(120)]
    frame = pl.DataFrame({"text": texts, "key": [f"k{number}" for number in range(120)], "mark": ["good", "bad"] * 60})
    frame = frame.with_columns(day=pl.Series([f"2024-0{1 + number % 6}-11" for number in range(120)]))
    frame.write_csv(tmp_path / "mine.csv")
    names = ["a", "b"]
    for name, every in zip(names, (5, 3), strict=True):
        guess = [mark if number % every else "bad" for number, mark in enumerate(frame["mark"])]
        pl.DataFrame({"source": "elsewhere", "id": frame["key"], "prediction": guess}).write_csv(
            tmp_path / f"{name}.csv"
        )
    claim = tmp_path / "claim.json"
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--data", str(tmp_path / "mine.csv")]
    options = ["--columns", "quarter=day,labels=mark", "--columns", "id=key", "--min-texts", "10"]
    assert run("compare", *files, *options, "--json", str(claim)).exit_code == 0
    content = json.loads(claim.read_text())
    read = ["quarter=day", "label=mark", "id=key"]
    assert (content["columns"], content["kind"], content["min_texts"]) == (read, "classification", 10)
    assert run("verify", str(claim)).exit_code == 0
    former = {key: value for key, value in content.items() if key not in ("columns", "kind", "min_texts")}
    claim.write_text(json.dumps(former))
    with pytest.raises(InvalidInput):
        run("verify", str(claim))
    result = run("verify", str(claim), *options)
    assert result.exit_code == 0
    assert "--columns:" in result.stderr


def test_a_claim_about_a_folder_has_the_keys_of_former_versions(made: Path) -> None:
    assert not {"columns", "kind", "min_texts"} & set(json.loads((made / "claim.json").read_text()))
