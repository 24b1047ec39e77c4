"""Damaged logs: each mutation of every tool's log is read, or refused with a message; there are no other errors."""

import json
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shiftbench.scoring.interchange.comparison import ComparedLogs, Joining, compare_logs
from shiftbench.scoring.interchange.reader import read_log
from shiftbench.scoring.reports.item_tables import item_lines, items_csv
from shiftbench.scoring.reports.plain_tables import as_latex, as_markdown, report
from shiftbench.validation.plain_text import escape_invisible
from shiftbench.validation.report import InvalidInput
from tests.scoring.interchange.logs import (
    DATE,
    completion,
    helm_state,
    helm_stats,
    inspect_header,
    inspect_sample,
    lm_eval_choice,
    lm_eval_text,
    write_eval,
    write_helm,
    write_lm_eval,
)
from tests.scoring.interchange.mutations import encrypted, mutated_archive, mutated_bytes, mutated_values

N = 15
"""Number of mutations per kind and file; pass more to ``run_mutations`` to search for new failures."""
Damaged = Iterator[tuple[str, Path]]
RESULTS = {
    "lm_eval_version": "0.4.9", "model_name": "org/model", "versions": {"quiz": 1.0}, "n-shot": {"quiz": 0},
    "config": {"model": "hf", "model_num_parameters": 7, "batch_size": "8", "model_dtype": "torch.float16"},
}  # fmt: skip


def lm_eval_logs(folder: Path, rng: random.Random, n: int) -> Damaged:
    """Damage lines, bytes and the results file of lm-eval's logs: of choices and of generated texts."""
    for kind, lines in (
        ("choices", [lm_eval_choice(place, {"yes": -1.0, "no": -2.5}) for place in range(4)]),
        ("texts", [lm_eval_text(place, "yes") for place in range(4)]),
    ):
        path = write_lm_eval(folder / kind, lines)
        results = path.with_name(f"results_{DATE}.json")
        results.write_text(json.dumps(RESULTS))
        for what, text in mutated_values(lines[1], rng, n):
            path.write_text("\n".join(map(json.dumps, [lines[0], *lines[2:]])) + f"\n{text}\n")
            yield f"lm-eval {kind} {what}", path
        path = write_lm_eval(folder / kind, lines)
        yield from _with_bytes(f"lm-eval {kind}", path, path, mutated_bytes(path.read_bytes(), rng, n))
        for what, text in mutated_values(RESULTS, rng, n):
            results.write_text(text)
            yield f"lm-eval results {what}", path
        yield from _with_bytes(
            "lm-eval results", path, results, mutated_bytes(json.dumps(RESULTS).encode(), rng, n // 4)
        )


def inspect_logs(folder: Path, rng: random.Random, n: int) -> Damaged:
    """Damage the samples, header, bytes and zip headers of Inspect's logs."""
    folder.mkdir()
    choice = inspect_sample(2, "A", choices=["yes", "no"], scores={"choice": {"value": "C", "answer": "A"}})
    samples = [inspect_sample(0), inspect_sample(1, "no"), choice]
    path = folder / "log.eval"
    for place in (1, 2):
        for what, text in mutated_values(samples[place], rng, n):
            write_eval(path, samples[:place] + samples[place + 1 :])
            with zipfile.ZipFile(path, "a") as archive:
                archive.writestr("samples/damaged_epoch_1.json", text)
            yield f"inspect sample {what}", path
    for what, text in mutated_values(inspect_header(), rng, n):
        path.write_bytes(b"")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("samples/0_epoch_1.json", json.dumps(samples[0]))
            archive.writestr("header.json", text)
        yield f"inspect header {what}", path
    sound = write_eval(path, samples).read_bytes()
    yield from _with_bytes("inspect", path, path, mutated_bytes(sound, rng, n))
    yield from _with_bytes("inspect zip", path, path, mutated_archive(sound, rng, n))
    path.write_bytes(encrypted(sound))
    yield "inspect encrypted", path
    whole = folder / "log.json"
    document = {**inspect_header(), "samples": samples}
    for what, text in mutated_values(document, rng, n):
        whole.write_text(text)
        yield f"inspect json {what}", whole
    yield from _with_bytes("inspect json", whole, whole, mutated_bytes(json.dumps(document).encode(), rng, n))


def helm_logs(folder: Path, rng: random.Random, n: int) -> Damaged:
    """Damage the three files of HELM's run folders: of generated texts and of likelihoods."""
    ranked = [
        helm_state(place, text, reference_index=number, request_mode="original",
                   result={"success": True, "completions": [completion(text, (" the", -1.0), (" cat", -1.0))]})
        for place in range(3) for number, text in enumerate((" the cat", " a dog"))
    ]  # fmt: skip
    lettered = [helm_state(place, "A", output_mapping={"A": "the cat", "B": "a dog"}) for place in range(3)]
    for kind, states in (("ranked", ranked), ("lettered", lettered)):
        stats = [helm_stats(place, exact_match=1.0, predicted_index=0.0, num_prompt_tokens=9.0,
                            num_output_tokens=1.0) for place in range(3)]  # fmt: skip
        path = write_helm(folder / kind, states, stats, output_mapping_pattern="([AB])")
        for file in sorted(path.iterdir()):
            sound = file.read_bytes()
            for what, text in mutated_values(json.loads(sound), rng, n):
                file.write_text(text)
                yield f"helm {kind} {file.stem} {what}", path
            yield from _with_bytes(f"helm {kind} {file.stem}", path, file, mutated_bytes(sound, rng, n // 4))
            file.write_bytes(sound)


def _with_bytes(name: str, path: Path, file: Path, changes: Iterator[tuple[str, bytes]]) -> Damaged:
    for what, content in changes:
        file.write_bytes(content)
        yield f"{name} {what}", path


def outcome(path: Path, sound: Path) -> str:
    """Read a damaged log, and compare it with an intact one of the same items; return the refusal, if any."""
    try:
        log = read_log(path, fields=("id",))
        compared = compare_logs([read_log(sound, fields=("id",)), log], Joining(shared_items=True, any_prompts=True))
    except InvalidInput as refused:
        for problem in refused.problems:
            assert problem.what
            assert problem.file
            assert problem.found or problem.cure
        return str(refused)
    return _written(compared)


def _written(compared: ComparedLogs) -> str:
    lines = list(item_lines(compared.report))
    texts = [items_csv(compared.report), report("t", lines, "m"), as_latex(lines), as_markdown(lines)]
    for text in texts:
        plain = text.replace("\r\n", "\n")
        assert escape_invisible(plain) == plain
    json.dumps(compared.as_dict(), allow_nan=False)
    return ""


@pytest.mark.parametrize("make", [lm_eval_logs, inspect_logs, helm_logs])
def test_a_damaged_log_is_refused_in_words(make: Callable[[Path, random.Random, int], Damaged], tmp_path: Path) -> None:
    ends = run_mutations(make, tmp_path, seed=1, n=N)
    assert len(ends) > 5 * N
    assert any(not end for end in ends), "what is not read does no harm"
    assert sum(bool(end) for end in ends) > len(ends) // 4


def run_mutations(make: Callable[[Path, random.Random, int], Damaged], folder: Path, seed: int, n: int) -> list[str]:
    """Read every mutation of logs."""
    ends = []
    sound = SOUND[make.__name__](folder / "sound")
    for what, path in make(folder / "damaged", random.Random(seed), n):
        try:
            ends.append(outcome(path, sound))
        except Exception as error:
            raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    return ends


SOUND: dict[str, Callable[[Path], Path]] = {
    "lm_eval_logs": lambda folder: write_lm_eval(folder, [lm_eval_choice(n, {"a": 0.0, "b": -1.0}) for n in range(4)]),
    "inspect_logs": lambda folder: write_eval(
        _made(folder) / "sound.eval", [inspect_sample(n, "no") for n in range(3)]
    ),
    "helm_logs": lambda folder: write_helm(
        folder, [helm_state(n, "x") for n in range(3)], [helm_stats(n, exact_match=0.0) for n in range(3)]
    ),
}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
