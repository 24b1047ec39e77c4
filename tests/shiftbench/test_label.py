"""``shiftbench label`` and ``score --sampled``: from texts without labels to an accuracy with its interval."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import shiftbench as sb
from tests.command_line import run
from tests.shiftbench.checked import stable

COLUMNS = ("--columns", "id=key,domain=site,text=body,label=verdict")
OTHER = {"pos": "neg", "neg": "pos"}
N, N_TINY = 300, 12


def write_rows(folder: Path) -> dict[str, str]:
    """Write mine.csv, where 'old' alone has labels, and preds.csv; returns the true label of every id."""
    rng, rows, said, truth = np.random.default_rng(3), [], [], {}
    for site in ("shop", "Sci Fi", "tiny", "old"):
        for number in range(N_TINY if site == "tiny" else N):
            confidence, prediction = 0.5 + 0.5 * rng.beta(1, 1.2), str(rng.choice(["pos", "neg"]))
            key = f"={site}{number}" if site == "tiny" else f"{site}{number}"
            truth[key] = prediction if rng.random() < confidence else OTHER[prediction]
            rows.append((key, site, f"text {site} {number}", truth[key] if site == "old" else ""))
            said.append(("old", key, prediction, round(confidence, 4)))
    names = ["source", "id", "prediction", "confidence"]
    pl.DataFrame(rows, schema=["key", "site", "body", "verdict"], orient="row").write_csv(folder / "mine.csv")
    pl.DataFrame(said, schema=names, orient="row").write_csv(folder / "preds.csv")
    return truth


def draw(folder: Path, *more: object, budget: int = 250) -> str:
    result = run(
        "label", folder / "preds.csv", "--data", folder / "mine.csv", *COLUMNS,
        "--budget", budget, "--out", folder / "to_label.csv", *more,
    )  # fmt: skip
    return (result.stdout + result.stderr).replace(f"{folder}/", "")


def score(folder: Path, *more: object) -> str:
    result = run(
        "score", folder / "preds.csv", "--data", folder / "mine.csv", *COLUMNS,
        "--sampled", folder / "to_label.csv", *more,
    )  # fmt: skip
    return (result.stdout + result.stderr).replace(f"{folder}/", "")


def edit(folder: Path, change: pl.Expr, name: str = "to_label.csv") -> None:
    frame = pl.read_csv(folder / name, infer_schema=False).with_row_index("number")
    frame.with_columns(change).drop("number").write_csv(folder / name)


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    """A folder with texts that were drawn and labelled."""
    truth = write_rows(tmp_path)
    draw(tmp_path)
    edit(tmp_path, pl.col("key").str.strip_prefix("'").replace_strict(truth).alias("verdict"))
    return tmp_path


def test_label_writes_texts_without_what_was_predicted(tmp_path: Path, wording: SnapshotAssertion) -> None:
    write_rows(tmp_path)
    said = draw(tmp_path)
    frame = pl.read_csv(tmp_path / "to_label.csv", infer_schema=False)
    assert frame.columns == ["key", "site", "body", "verdict", "draw_probability"]
    assert frame["verdict"].is_null().all()
    sizes = dict(frame.group_by("site").len().iter_rows())
    assert sum(sizes.values()) == 250
    assert min(sizes["shop"], sizes["Sci Fi"]) > 100
    assert stable(said) == wording
    record = json.loads((tmp_path / "to_label.draw.json").read_text())
    assert len(record["probabilities"]) == 250
    before = (tmp_path / "to_label.csv").read_bytes()
    draw(tmp_path)
    assert (tmp_path / "to_label.csv").read_bytes() == before
    draw(tmp_path, "--seed", "1")
    assert (tmp_path / "to_label.csv").read_bytes() != before


def test_the_labelled_texts_give_accuracy_by_domain(drawn: Path, wording: SnapshotAssertion) -> None:
    found = json.loads(score(drawn, "--json", "-"))["sampled"]
    assert [(each["domain"], each["method"]) for each in found] == [
        ("shop", "ppi++"), ("Sci Fi", "ppi++"), ("tiny", "wilson")
    ]  # fmt: skip
    predicted = pl.read_csv(drawn / "preds.csv", infer_schema=False)
    truth = write_rows(drawn)
    for each in found:
        here = predicted.filter(pl.col("id").str.strip_prefix("=").str.starts_with(each["domain"]))
        right = (here["id"].replace_strict(truth) == here["prediction"]).mean()
        assert each["low"] < right < each["high"]
    assert found[2]["accuracy"] == pytest.approx(1 - found[2]["n_errors"] / N_TINY)
    assert (found[2]["low"], found[2]["high"]) == (found[2]["random_low"], found[2]["random_high"])
    assert stable(score(drawn)) == wording


def test_a_notebook_gives_the_same_figures(drawn: Path) -> None:
    names = {"id": "key", "domain": "site", "text": "body", "label": "verdict"}
    predicted, rows = (pl.read_csv(drawn / name, infer_schema=False) for name in ("preds.csv", "mine.csv"))
    predicted = predicted.with_columns(pl.col("confidence").cast(pl.Float64))
    found = sb.score(predicted, rows, sampled=drawn / "to_label.csv", **names)
    assert found.to_json() == json.loads(score(drawn, "--json", "-"))
    assert "Wilson" in found.to_markdown()
    with pytest.raises(sb.InvalidInput, match="margin, min_texts:"):
        sb.score(predicted, rows, sampled=drawn / "to_label.csv", margin=0.1, min_texts=5, **names)
    with pytest.raises(sb.InvalidInput, match="labels:"):
        sb.score(predicted, rows, labels=["new"], **names)


def test_labels_that_the_data_has_by_now_change_nothing(drawn: Path) -> None:
    before = score(drawn, "--json", "-")
    drawn_ids = pl.read_csv(drawn / "to_label.csv")["key"].str.strip_prefix("'")
    labelled = pl.when(pl.col("key").is_in(drawn_ids.implode())).then(pl.lit("pos")).otherwise("verdict")
    edit(drawn, labelled.alias("verdict"), "mine.csv")
    assert score(drawn, "--json", "-") == before


def test_one_domain_and_groups(tmp_path: Path) -> None:
    write_rows(tmp_path)
    edit(tmp_path, (pl.col("number") // 3).cast(pl.String).alias("document"), "mine.csv")
    draw(tmp_path, "--domain", "shop", "--columns", "group=document", budget=60)
    frame = pl.read_csv(tmp_path / "to_label.csv", infer_schema=False)
    assert frame["site"].unique().to_list() == ["shop"]
    numbers = frame["key"].str.strip_prefix("shop").cast(pl.Int64)
    assert set((numbers // 3).value_counts()["count"]) == {3}
    edit(tmp_path, pl.lit("pos").alias("verdict"))
    assert json.loads(score(tmp_path, "--json", "-"))["sampled"][0]["n_labelled"] == 60


def test_a_file_without_labels_or_domains_is_one_domain(tmp_path: Path) -> None:
    write_rows(tmp_path)
    pl.read_csv(tmp_path / "mine.csv").drop("site", "verdict").write_csv(tmp_path / "mine.csv")
    files = (tmp_path / "preds.csv", "--data", tmp_path / "mine.csv", "--columns", "id=key,text=body")
    result = run("label", *files, "--budget", 150, "--out", tmp_path / "to_label.csv")
    assert "decision" not in result.stdout
    assert len(pl.read_csv(tmp_path / "to_label.csv")) == 150


def test_labels_that_are_not_those_of_the_draw(drawn: Path, wording: SnapshotAssertion) -> None:
    before, said = (drawn / "to_label.csv").read_bytes(), {}
    for name, change in {
        "missing labels": pl.when(pl.col("number") > 3).then("verdict").alias("verdict"),
        "another probability": pl.lit("0.5").alias("draw_probability"),
        "an id that was not drawn": pl.when(pl.col("number") > 0).then("key").otherwise(pl.lit("who")).alias("key"),
        "an id repeated": pl.col("key").first().alias("key"),
        "an unknown label": pl.lit("poss").alias("verdict"),
        "a label as a probability": pl.col("verdict").alias("draw_probability"),
    }.items():
        edit(drawn, change)
        said[name] = score(drawn)
        (drawn / "to_label.csv").write_bytes(before)
    pl.read_csv(drawn / "to_label.csv", infer_schema=False).tail(-2).write_csv(drawn / "to_label.csv")
    said["rows left out"] = score(drawn)
    said["rows left out, a new label"] = score(drawn, "--labels", "neither")
    assert said == wording


def test_labels_that_nobody_predicts(drawn: Path, wording: SnapshotAssertion) -> None:
    edit(drawn, pl.lit("neither").alias("verdict"))
    found = json.loads(score(drawn, "--labels", "neither", "--json", "-"))["sampled"]
    assert found[2]["accuracy"] == 0
    assert found[0]["note"] == wording


def test_other_data_than_the_draw_was_made_from(drawn: Path, wording: SnapshotAssertion) -> None:
    rows = pl.read_csv(drawn / "mine.csv", infer_schema=False)
    labelled = pl.read_csv(drawn / "to_label.csv")["key"]
    kept = rows.filter(
        pl.col("key").is_in(labelled.implode()) | pl.col("key").str.ends_with("1") | (pl.col("site") == "tiny")
    )
    said = pl.read_csv(drawn / "preds.csv", infer_schema=False).filter(pl.col("id").is_in(kept["key"].implode()))
    kept.write_csv(drawn / "mine.csv")
    said.write_csv(drawn / "preds.csv")
    printed = {"other rows": score(drawn)}
    rows.filter(pl.col("site") == "old").write_csv(drawn / "mine.csv")
    pl.read_csv(drawn / "preds.csv").head(0).write_csv(drawn / "preds.csv")
    (drawn / "to_label.draw.json").write_text("{}")
    printed["a damaged record"] = score(drawn)
    (drawn / "to_label.draw.json").unlink()
    printed["no record"] = score(drawn)
    assert printed == wording


def test_what_does_not_fit_draws_nothing(tmp_path: Path, wording: SnapshotAssertion) -> None:
    write_rows(tmp_path)
    said = {
        "too large": draw(tmp_path, budget=1000),
        "too small": draw(tmp_path, budget=2),
        "no such domain": draw(tmp_path, "--domain", "shpo", budget=9),
        "a labelled domain": draw(tmp_path, "--domain", "old", budget=9),
        "budget and precision": draw(tmp_path, "--to-within", 5),
    }
    for case, (name, change) in {
        "no confidence": ("preds.csv", pl.lit(None).alias("confidence")),
        "half of two seeds": ("preds.csv", (pl.col("number") % 2).cast(pl.String).alias("seed")),
        "unknown ids": ("preds.csv", pl.lit("x").alias("id")),
        "all labelled": ("mine.csv", pl.lit("pos").alias("verdict")),
        "ids repeated": ("mine.csv", pl.lit("shop1").alias("key")),
        "empty texts": ("mine.csv", pl.lit(" ").alias("body")),
    }.items():
        before = (tmp_path / name).read_bytes()
        edit(tmp_path, change, name)
        said[case] = draw(tmp_path)
        (tmp_path / name).write_bytes(before)
    predicted = pl.read_csv(tmp_path / "preds.csv")
    predicted.drop("confidence").write_csv(tmp_path / "preds.csv")
    said["no confidences"] = draw(tmp_path)
    twice = [predicted.with_columns(seed=pl.lit(seed)) for seed in (0, 1)]
    pl.concat(twice).write_csv(tmp_path / "preds.csv")
    said["two runs"] = draw(tmp_path)
    files = ("label", tmp_path / "preds.csv", "--data", tmp_path / "mine.csv", "--budget", 9, "--out")
    said["no ids"] = run(*files, "x.csv").stderr
    assert run(*files, "x.parquet").returncode == 2
    said["depth"] = score(tmp_path, "--depth").partition("Invalid value: ")[2]
    assert said == wording
    assert not list(tmp_path.glob("to_label*"))


def write_sure_model(folder: Path) -> dict[str, str]:
    """Write a model that is 90% sure everywhere: right in 90% at home, 75 to 80% on labelled sites.

    'edge' has confidences of 93% and so hangs at home less 5 points; 'clear' has 70%.
    """
    rng, rows, said, truth = np.random.default_rng(11), [], [], {}
    sites = {"home": (0.9, 0.9), "one": (0.9, 0.8), "two": (0.9, 0.77), "three": (0.9, 0.8), "four": (0.9, 0.78)}
    sites |= {"edge": (0.965, 0.85), "clear": (0.6, 0.5)}
    for site, (confidence, accuracy) in sites.items():
        for number in range(400):
            key, prediction = f"{site}{number}", str(rng.choice(["pos", "neg"]))
            truth[key] = prediction if rng.random() < accuracy else OTHER[prediction]
            rows.append((key, site, f"text {site} {number}", "" if site in ("edge", "clear") else truth[key]))
            said.append(("home", key, prediction, round(float(rng.normal(confidence, 0.005)), 4)))
    names = ["source", "id", "prediction", "confidence"]
    pl.DataFrame(rows, schema=["key", "site", "body", "verdict"], orient="row").write_csv(folder / "mine.csv")
    pl.DataFrame(said, schema=names, orient="row").write_csv(folder / "preds.csv")
    return truth


def test_a_budget_goes_where_the_decision_hangs_and_labelled_sites_enter(tmp_path: Path) -> None:
    write_sure_model(tmp_path)
    said = draw(tmp_path, budget=200)
    sizes = dict(pl.read_csv(tmp_path / "to_label.csv").group_by("site").len().iter_rows())
    assert sizes["edge"] > 2 * sizes["clear"] >= 50  # a quarter is spread evenly
    assert "4 labelled domains (one +" in said
    record = json.loads((tmp_path / "to_label.draw.json").read_text())
    edge, clear = record["domains"]
    assert edge["expected_accuracy"] < 0.92  # 96.5% sure, and labelled sites fall short of that
    assert edge["expected_low"] < 0.85 < edge["expected_high"]
    assert record["plan"]["reference"] == "home"
    wider = json.loads((tmp_path / "to_label.draw.json").read_text())["plan"]["limit"]
    draw(tmp_path, "--margin", 10, budget=200)
    assert json.loads((tmp_path / "to_label.draw.json").read_text())["plan"]["limit"] == pytest.approx(wider - 0.05)
    assert clear["expected_accuracy"] < 0.6


def test_a_precision_is_reached_or_said_not_to_be(tmp_path: Path, wording: SnapshotAssertion) -> None:
    truth = write_sure_model(tmp_path)
    result = run(
        "label", tmp_path / "preds.csv", "--data", tmp_path / "mine.csv", *COLUMNS, "--to-within", 5,
        "--out", tmp_path / "to_label.csv",
    )  # fmt: skip
    said = [stable(result.stdout.replace(str(tmp_path), "TMP"))]
    sizes = dict(pl.read_csv(tmp_path / "to_label.csv").group_by("site").len().iter_rows())
    assert sizes["clear"] > sizes["edge"]
    edit(tmp_path, pl.col("key").replace_strict(truth).alias("verdict"))
    for each in json.loads(score(tmp_path, "--json", "-"))["sampled"]:
        assert each["high"] - each["low"] <= 0.1
    result = run(
        "label", tmp_path / "preds.csv", "--data", tmp_path / "mine.csv", *COLUMNS, "--to-within", 1,
        "--out", tmp_path / "to_label.csv",
    )  # fmt: skip
    assert [*said, stable(result.stdout.replace(str(tmp_path), "TMP"))] == wording


def test_errors_to_expect_are_those_that_labelled_sites_show(tmp_path: Path) -> None:
    """Confidences alone expect 7 errors of 200: too few to draw by them. Labelled sites show that there are more."""
    truth = write_sure_model(tmp_path)
    said = draw(tmp_path, "--domain", "edge", budget=200)
    record = json.loads((tmp_path / "to_label.draw.json").read_text())["domains"][0]
    expected = round(200 * (1 - record["expected_accuracy"]))
    edit(tmp_path, pl.col("key").replace_strict(truth).alias("verdict"))
    found = json.loads(score(tmp_path, "--json", "-"))["sampled"][0]["n_errors"]
    assert 15 <= found <= 45
    assert abs(expected - found) < 15
    assert f"  {expected}  " in said
