"""Reader of a run folder of HELM: ``run_spec.json``, ``scenario_state.json``, ``per_instance_stats.json``.

Source: helm/benchmark/runner.py, adaptation/request_state.py, metrics/metric.py, scenarios/scenario.py; tested on runs
of HELM 0.5.16. HELM omits keys without a value. A folder does not state the version of HELM that wrote it.
Perturbed copies of instances are skipped: they are different items.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import polars as pl

from shiftbench.scoring.interchange.log import (
    HELM,
    WHOLE,
    EvaluationLog,
    LogFacts,
    SampleRows,
    chosen_fields,
    parse_json_file,
    refuse_log,
    text_hash,
)
from shiftbench.validation.outside import MAX_COUNT

RUN_SPEC, STATE, INSTANCE_STATS = "run_spec.json", "scenario_state.json", "per_instance_stats.json"

_NO_SCORES = frozenset(
    {
        "num_references", "num_train_trials", "num_prompt_tokens", "num_completion_tokens", "num_output_tokens",
        "training_co2_cost", "training_energy_cost", "inference_runtime", "inference_idealized_runtime",
        "inference_denoised_runtime", "batch_size", "finish_reason_length", "finish_reason_stop",
        "finish_reason_endoftext", "finish_reason_unknown", "num_train_instances", "prompt_truncated", "max_prob",
        "predicted_index", "num_perplexity_tokens", "num_bytes",
    }
)  # fmt: skip
"""Statistics of HELM that are not scores: they describe the request and its cost, not the quality of the answer."""

Key = tuple[str, int]
"""An instance's id and the index of the trial."""
T = TypeVar("T")


class _Text(msgspec.Struct):
    text: str = ""
    messages: Any = None


class _Reference(msgspec.Struct):
    output: _Text
    tags: list[str] = []


class _Instance(msgspec.Struct):
    input: _Text
    references: list[_Reference]
    id: str
    split: str | None = None
    sub_split: str | None = None
    perturbation: Any = None
    extra_data: dict[str, Any] = {}


class _Token(msgspec.Struct):
    text: str
    logprob: float | None = None


class _Completion(msgspec.Struct):
    text: str
    logprob: float | None = None
    tokens: list[_Token] = []


class _Result(msgspec.Struct):
    success: bool
    completions: list[_Completion] = []


class _Request(msgspec.Struct):
    prompt: str = ""
    messages: Any = None


class _State(msgspec.Struct):
    """One request for an instance, or for one of its references."""

    instance: _Instance
    train_trial_index: int
    request: _Request
    num_train_instances: int = 0
    reference_index: int | None = None
    request_mode: str | None = None
    output_mapping: dict[str, str] | None = None
    result: _Result | None = None


class _Adapter(msgspec.Struct):
    method: str
    model: str
    model_deployment: str = ""
    output_mapping_pattern: str | None = None


class _States(msgspec.Struct):
    adapter_spec: _Adapter
    request_states: list[_State]


class _Class(msgspec.Struct):
    class_name: str


class _RunSpec(msgspec.Struct):
    name: str
    metric_specs: list[_Class] = []


class _Name(msgspec.Struct):
    name: str
    perturbation: Any = None


class _Stat(msgspec.Struct):
    name: _Name
    sum: float | None = None
    mean: float | None = None


class _InstanceStats(msgspec.Struct):
    instance_id: str
    train_trial_index: int
    stats: list[_Stat]
    perturbation: Any = None


def is_helm(path: Path) -> bool:
    """Return whether a path is a run folder of HELM, or the state file in it."""
    return (path / STATE).is_file() or (path.name == STATE and path.is_file())


def read_helm(path: Path, fields: Sequence[str] = ()) -> EvaluationLog:
    """Read a run folder of HELM.

    Args:
        path: the folder, or its ``scenario_state.json``.
        fields: the fields to keep, of ``input``, ``split``, ``sub_split``, ``id`` and the instances' ``extra_data``.

    Returns: the log. Ids are ``extra_data["id"]`` if every instance has a distinct one, otherwise the instances' ids.

    Raises: InvalidInput as ``reader.read_log``.
    """
    folder = path.parent if path.name == STATE else path
    states = _read_json(folder, STATE, _States)
    spec = _read_json(folder, RUN_SPEC, _RunSpec)
    stats = _read_json(folder, INSTANCE_STATS, list[_InstanceStats])
    scores: dict[Key, dict[str, float | None]] = {}  # merged, as an instance may have several lists of statistics
    for each in stats:
        if each.perturbation is None:
            values = {stat.name.name: stat.mean for stat in each.stats if stat.name.perturbation is None}
            scores.setdefault((each.instance_id, each.train_trial_index), {}).update(values)
    requests: dict[Key, list[_State]] = {}
    for state in states.request_states:
        if state.instance.perturbation is None:
            requests.setdefault((state.instance.id, state.train_trial_index), []).append(state)
    rows = SampleRows(folder)
    for row, (key, asked) in enumerate(requests.items(), start=1):
        if key not in scores:
            cure = "copy the complete folder again"
            refuse_log(folder / INSTANCE_STATS, "an instance has no scores", f"'{key[0]}', trial {key[1]}", cure)
        _add(asked, scores[key], states.adapter_spec, rows, fields, row)
    adapter = states.adapter_spec
    facts = LogFacts(
        # The adapter states the maximum number of demonstrations, each request its actual number.
        shots=max((state.num_train_instances for state in states.request_states), default=None),
        engine=adapter.model_deployment.split("/")[0] or None,
        tokens=_count_tokens(stats),
        scorer=", ".join(dict.fromkeys(each.class_name.rsplit(".", 1)[-1] for each in spec.metric_specs)) or None,
    )
    task = spec.name.split(":")[0].split(",")[0]
    return EvaluationLog(folder, HELM, None, task, adapter.model, rows.frame(), facts)


def _count_tokens(stats: Sequence[_InstanceStats]) -> int | None:
    """Count the tokens of all requests; None if the log does not state them, or their number is invalid."""
    found = [
        stat.sum
        for each in stats
        for stat in each.stats
        if stat.name.name in ("num_prompt_tokens", "num_output_tokens") and stat.sum is not None
    ]
    n = sum(found)
    return int(n) if found and 0 <= n <= MAX_COUNT else None


def _read_json(folder: Path, name: str, kind: type[T]) -> T:
    path = folder / name
    if not path.is_file():
        refuse_log(path, "the run folder lacks this file", cure="copy the complete folder again")
    return parse_json_file(path, kind, "the file")


def _add(
    asked: Sequence[_State],
    scores: Mapping[str, float | None],
    adapter: _Adapter,
    rows: SampleRows,
    fields: Sequence[str],
    row: int,
) -> None:
    instance, first = asked[0].instance, asked[0]
    item = {"id": instance.id, "input": instance.input.text, "split": instance.split, "sub_split": instance.sub_split}
    fields_json = chosen_fields(item | instance.extra_data, fields, rows.path, row)
    references = [[reference.output.text, sorted(reference.tags)] for reference in instance.references]
    content = text_hash([instance.input.messages or instance.input.text, references])
    prompt = text_hash([state.request.messages or state.request.prompt for state in asked])
    choices: list[str] | None = None
    likelihoods: list[float] | None = None
    if first.reference_index is not None:
        choices = [reference.output.text for reference in instance.references]
        if any(not 0 <= (state.reference_index or 0) < len(choices) for state in asked):
            refuse_log(rows.path, "a request has an invalid reference index", f"'{instance.id}'", WHOLE)
        likelihoods = _likelihoods(asked, choices)
        answer = _chosen(choices, likelihoods, scores)
    else:
        if len(asked) > 1:
            what, cure = "an item occurs twice in the log", "give the log of one run, as the tool wrote it"
            refuse_log(rows.path, what, f"'{instance.id}', epoch {first.train_trial_index + 1}", cure)
        answer = _generated(first, adapter, rows.path)
        choices = list(first.output_mapping.values()) if first.output_mapping else None
    epoch = first.train_trial_index + 1
    values = (instance.id, epoch, content, prompt, answer, choices, likelihoods, fields_json)
    counted = [(name, score) for name, score in scores.items() if name not in _NO_SCORES]
    rows.add(values, counted, instance.extra_data.get("id"))


def _generated(state: _State, adapter: _Adapter, path: Path) -> str | None:
    """Return the most likely completion; for lettered choices, the text of the choice."""
    if state.result is None or not state.result.success or not state.result.completions:
        return None
    text = max(state.result.completions, key=lambda each: each.logprob or 0.0).text
    if state.output_mapping is None:
        return text
    if adapter.output_mapping_pattern is not None:
        text = _first_match(adapter.output_mapping_pattern, text.strip(), path)
    return state.output_mapping.get(text.strip())


def _first_match(pattern: str, text: str, path: Path) -> str:
    """Return group 1 of a pattern's first match, or the whole match if it has no group; ``""`` without a match.

    The pattern comes from the log, so polars searches, in linear time: Python's engine may backtrack exponentially.
    """
    try:
        series = pl.Series([text])
        has_group = len(series.str.extract_groups(pattern).struct.fields) > 0
        return series.str.extract(pattern, int(has_group))[0] or ""
    except pl.exceptions.ComputeError as error:
        what, key = "the pattern that extracts answers is not supported", "output_mapping_pattern"
        cure = "use a run whose pattern has no look-around and no back-references"
        refuse_log(path, what, " ".join(str(error).split())[:200], cure, key=key)


def _likelihoods(asked: Sequence[_State], choices: Sequence[str]) -> list[float] | None:
    """Sum the log-probabilities of each choice's tokens, which end its request; None if any are missing."""
    sums: dict[int, float] = {}
    for state in asked:
        if state.request_mode in (None, "original") and state.result and state.result.completions:
            place = state.reference_index or 0
            text, total = "", 0.0
            for token in reversed(state.result.completions[0].tokens):
                if len(text) > len(choices[place]):  # HELM puts a space before the reference
                    break
                text, total = token.text + text, total + (token.logprob or 0.0)
            if text.strip() == choices[place].strip():
                sums[place] = total
    return [sums[place] for place in range(len(choices))] if len(sums) == len(choices) else None


def _chosen(
    choices: Sequence[str], likelihoods: Sequence[float] | None, scores: Mapping[str, float | None]
) -> str | None:
    """Return the choice that HELM scored (length-normalised or calibrated), otherwise the most likely one."""
    counted = scores.get("predicted_index")
    if counted is not None:
        return choices[int(counted)] if 0 <= counted < len(choices) else None
    return None if likelihoods is None else choices[max(range(len(choices)), key=likelihoods.__getitem__)]
