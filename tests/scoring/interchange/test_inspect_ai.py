import json
import zipfile
from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from shiftbench.scoring.interchange.reader import read_log
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal
from tests.scoring.interchange.logs import FIXTURES, inspect_header, inspect_sample, write_eval


def test_an_archive_is_read(tmp_path: Path) -> None:
    samples = [inspect_sample(1), inspect_sample(2, "no"), inspect_sample(1, "no", 2), inspect_sample(2, "yes", 2)]
    log = read_log(write_eval(tmp_path / "log.eval", samples), fields=["genre", "target"])

    rows = log.samples.select("id", "epoch", "answer", "score.match", "document").rows()
    kept = '{"genre":"prose","target":"yes"}'
    assert rows == [
        ("1", 1, "yes", 1.0, kept),
        ("1", 2, "no", 0.0, kept),
        ("2", 1, "no", 0.0, kept),
        ("2", 2, "yes", 1.0, kept),
    ]
    assert log.samples["content_hash"].n_unique() == log.samples["prompt_hash"].n_unique() == 2
    assert (log.tool, log.version, log.task, log.model) == ("inspect", "0.3.285", "quiz", "openai/gpt-4o")
    facts = log.facts
    assert (facts.tokens, facts.cost_usd, facts.engine, facts.revision, facts.scorer) == (
        100,
        0.25,
        "openai",
        "abc",
        "match",
    )
    assert log.epochs == 2


def test_letters_stand_for_choices(tmp_path: Path) -> None:
    def chosen(place: int, letter: str | None) -> dict[str, object]:
        return inspect_sample(place, choices=["cat", "dog"], scores={"choice": {"value": "C", "answer": letter}})

    samples = [chosen(1, "B"), chosen(2, "Z"), chosen(3, None)]
    log = read_log(write_eval(tmp_path / "log.eval", samples))
    assert log.samples["answer"].to_list() == ["dog", None, None]


def test_values_of_all_kinds_are_scores(tmp_path: Path) -> None:
    values = {"a": "P", "b": 0.25, "c": True, "d": "yes", "e": {"x": 1, "y": "C"}, "f": "0.5", "g": "soon", "h": [1]}
    scores = {name: {"value": value} for name, value in values.items()}
    log = read_log(write_eval(tmp_path / "log.eval", [inspect_sample(1, scores=scores)]))
    found = log.samples.select(log.samples.columns[8:]).row(0, named=True)
    numbers = {"a": 0.5, "b": 0.25, "c": 1.0, "d": 1.0, "e.x": 1.0, "e.y": 1.0, "f": 0.5}
    assert found == {f"score.{name}": value for name, value in numbers.items()}


def test_a_sample_that_failed_has_no_answer_and_older_logs_no_completion(tmp_path: Path) -> None:
    parts = [{"type": "reasoning", "reasoning": "well"}, {"type": "text", "text": "no"}]
    older = {"choices": [{"message": {"role": "assistant", "content": parts}}]}
    samples = [inspect_sample(1, error={"message": "gone"}), inspect_sample(2, output=older)]
    assert read_log(write_eval(tmp_path / "log.eval", samples)).samples["answer"].to_list() == [None, "no"]


def test_ids_in_the_metadata_come_first(tmp_path: Path) -> None:
    """Check ids in the metadata: Inspect numbers the samples of a dataset on the Hub."""
    samples = [inspect_sample(place, metadata={"id": f"x{place}"}) for place in (1, 2)]
    assert read_log(write_eval(tmp_path / "log.eval", samples)).samples["id"].to_list() == ["x1", "x2"]


def test_json_is_read_with_nan_in_it(tmp_path: Path) -> None:
    sample = inspect_sample(1, scores={"match": {"value": float("nan")}, "other": {"value": 1}})
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**inspect_header(), "samples": [sample]}))
    assert read_log(path).metrics == ("other",)


def test_samples_in_chunks_are_read(tmp_path: Path) -> None:
    whole = inspect_sample(1)
    shell = {key: value for key, value in whole.items() if key not in ("messages", "events", "metadata")}
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/1_epoch_1/sample.json", json.dumps(shell))
        archive.writestr("samples/1_epoch_1/metadata.json", json.dumps(whole["metadata"]))
        archive.writestr("samples/1_epoch_1/messages/0.json", "[]")
        archive.writestr("header.json", json.dumps(inspect_header()))
    log = read_log(path, fields=["genre"])
    assert log.samples.select("id", "answer", "document").row(0) == ("1", "yes", '{"genre":"prose"}')


def test_other_headers_are_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    headers: tuple[dict[str, object], ...] = ({"version": 3}, {"status": "cancelled"}, {"eval": {"task": "quiz"}})
    archive, text = tmp_path / "log.eval", tmp_path / "log.json"
    messages = []
    for header in headers:
        write_eval(archive, [inspect_sample(1)], **header)
        text.write_text(json.dumps({**inspect_header(**header), "samples": [inspect_sample(1)]}))
        messages += [refusal(InvalidInput, read_log, path) for path in (archive, text)]
    assert messages == wording


def test_what_is_cut_off_or_twice_is_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    text = json.dumps({**inspect_header(), "samples": [inspect_sample(1), inspect_sample(1)]})
    twice, cut = tmp_path / "twice.json", tmp_path / "cut.json"
    twice.write_text(text)
    cut.write_text(text[:-100])
    archive = write_eval(tmp_path / "cut.eval", [inspect_sample(1)])
    archive.write_bytes(archive.read_bytes()[:-100])
    with zipfile.ZipFile(tmp_path / "running.eval", "w") as running:
        running.writestr("_journal/start.json", "{}")
    paths = (twice, cut, archive, tmp_path / "running.eval")
    assert {path.name: refusal(InvalidInput, read_log, path) for path in paths} == wording


def test_logs_that_inspect_wrote() -> None:
    (archive,) = (FIXTURES / "inspect").glob("*.eval")
    (text,) = (FIXTURES / "inspect").glob("*.json")
    log, other = read_log(archive), read_log(text)
    assert (log.version, log.model, log.facts.engine) == ("0.3.285", "openai-api/stub/m", "openai-api")
    assert (len(log.samples), log.epochs, log.metrics, log.facts.tokens) == (40, 2, ("pattern",), 480)
    assert log.samples["id"].str.starts_with("synthetic/sa/lamps/test/").all()
    shorter = log.samples.join(other.samples, on=["id", "epoch"], how="semi").sort("id")
    assert (len(shorter), shorter.equals(other.samples.sort("id"))) == (3, True)
