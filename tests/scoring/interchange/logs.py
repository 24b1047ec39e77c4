"""Invented logs in the tools' formats, small enough to be modified by a test."""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent / "fixtures"
"""Logs written by the tools themselves on invented texts (``make test-interchange``)."""
DATE = "2026-09-01T10-00-00.123456"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def lm_eval_choice(place: int, likelihoods: Mapping[str, float], **more: Any) -> dict[str, Any]:
    """Build an lm-eval line of a multiple-choice item."""
    arguments = {f"gen_args_{n}": {"arg_0": f"Q{place}:", "arg_1": f" {name}"} for n, name in enumerate(likelihoods)}
    responses = [[str(value), "False"] for value in likelihoods.values()]
    return {
        "doc_id": place,
        "doc": {"id": f"q{place}", "genre": "prose" if place % 2 else "verse"},
        "target": "0",
        "arguments": arguments,
        "resps": [[response] for response in responses],
        "filtered_resps": responses,
        "filter": "none",
        "metrics": ["acc", "f1"],
        "doc_hash": digest(f"document {place}"),
        "prompt_hash": digest(f"Q{place}:"),
        "target_hash": digest("0"),
        "acc": 1.0,
        "f1": [0, 0],
        **more,
    }


def lm_eval_text(place: int, text: str, filter_name: str = "none", **more: Any) -> dict[str, Any]:
    """Build an lm-eval line of a generated text."""
    line = lm_eval_choice(place, {"yes": -1.0})
    arguments = {"gen_args_0": {"arg_0": f"Q{place}:", "arg_1": {"until": ["\n\n"]}}}
    scores = {"metrics": ["exact_match"], "exact_match": 0.0, "filter": filter_name}
    return {**line, "arguments": arguments, "resps": [[text]], "filtered_resps": [text], **scores, **more}


def write_lm_eval(folder: Path, lines: Iterable[Mapping[str, Any]], task: str = "quiz") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"samples_{task}_{DATE}.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def inspect_sample(place: int, completion: str = "yes", epoch: int = 1, **more: Any) -> dict[str, Any]:
    turns = [{"role": "user", "content": f"Q{place}?", "source": "input", "id": "random"}]
    answer = {"role": "assistant", "content": completion, "source": "generate", "id": "random"}
    return {
        "id": place,
        "epoch": epoch,
        "input": f"Q{place}?",
        "target": "yes",
        "messages": [*turns, answer],
        "output": {"model": "m", "choices": [{"message": answer, "stop_reason": "stop"}], "completion": completion},
        "scores": {"match": {"value": "C" if completion == "yes" else "I", "answer": completion}},
        "metadata": {"genre": "prose"},
        "events": [{"event": "span_begin"}],
        **more,
    }


def inspect_header(**more: Any) -> dict[str, Any]:
    packages = {"inspect_ai": "0.3.285"}
    usage = {"openai/gpt-4o": {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100, "total_cost": 0.25}}
    about = {"task": "quiz", "model": "openai/gpt-4o", "packages": packages, "model_args": {"revision": "abc"}}
    return {"version": 2, "status": "success", "eval": about, "stats": {"model_usage": usage}, **more}


def write_eval(path: Path, samples: Iterable[Mapping[str, Any]], **header: Any) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", "{}")
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(inspect_header(**header)))
    return path


def helm_state(place: int, text: str = "", **more: Any) -> dict[str, Any]:
    """Build a request of HELM with its result; as in HELM, keys without a value are omitted."""
    references = [{"output": {"text": text}, "tags": tags} for text, tags in (("the cat", ["correct"]), ("a dog", []))]
    result = {"success": True, "embedding": [], "cached": False, "completions": [completion(text)]}
    return {
        "instance": {"input": {"text": f"Q{place}?"}, "references": references, "split": "test", "id": f"id{place}"},
        "train_trial_index": 0,
        "request": {"model": "openai/gpt2", "prompt": f"Question: Q{place}?\nAnswer:"},
        "result": result,
        "num_train_instances": 2,
        "prompt_truncated": False,
        **more,
    }


def completion(text: str, *tokens: tuple[str, float]) -> dict[str, Any]:
    listed = [{"text": token, "logprob": logprob} for token, logprob in tokens]
    return {"text": text, "logprob": sum(value for _, value in tokens), "tokens": listed}


def helm_stats(place: int, **values: float) -> dict[str, Any]:
    stats = [{"name": {"name": name, "split": "test"}, "count": 1, "sum": value, "mean": value}
             for name, value in values.items()]  # fmt: skip
    return {"instance_id": f"id{place}", "train_trial_index": 0, "stats": stats}


def write_helm(folder: Path, states: list[dict[str, Any]], stats: list[dict[str, Any]], **adapter: Any) -> Path:
    folder.mkdir(parents=True)
    spec = {"method": "generation", "model": "openai/gpt2", "model_deployment": "huggingface/gpt2"}
    spec |= {"max_train_instances": 2, **adapter}
    metric = {"class_name": "helm.benchmark.metrics.basic_metrics.BasicGenerationMetric", "args": {}}
    run = {"name": "quiz:subject=cats,model=openai_gpt2", "adapter_spec": spec, "metric_specs": [metric]}
    for name, content in (
        ("run_spec", run),
        ("scenario_state", {"adapter_spec": spec, "request_states": states}),
        ("per_instance_stats", stats),
    ):
        (folder / f"{name}.json").write_text(json.dumps(content, indent=2))
    return folder
