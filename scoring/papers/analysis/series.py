"""States of one model: entries whose cards agree on everything but the one thing that an analysis varies."""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from shiftbench.scoring.papers.analysis.entries import PROMPTED, Result

STATE = ("parameters", "tunable_parameters", "training_size", "shots", "step")
"""Keys of a card in which the states of a model may differ."""
_WORDS: dict[str, Callable[[Any], str]] = {
    "parameters": lambda n: f"{short_number(n)} parameters",
    "tunable_parameters": lambda n: f"{short_number(n)} tunable",
    "tuned": lambda whole: "all tuned" if whole else "part tuned",
    "training_size": lambda n: f"{short_number(n)} examples",
    "shots": lambda n: f"{n:,} shots",
    "step": lambda n: f"step {n:,}",
    "model_selection": lambda rule: f"selection: {rule}",
    "extra_data": lambda data: f"with {data}",
}


def state_value(result: Result, key: str) -> int | None:
    """Return the value of a result on a key of ``STATE``; None where its card does not state it.

    A zero-shot model has 0 shots. A trained one whose training set was not cut has its domains' train rows, on
    average.
    """
    value: int | None = getattr(result.card, key)
    if value is None and key == "shots" and result.card.paradigm == "zero-shot":
        return 0
    if value is None and key == "training_size" and result.card.paradigm == "fine-tuned":
        domains = result.folder.task(result.task.task).domains
        rows = [domains[item.domain].splits["train"].rows for item in result.task.in_domain]
        return round(fmean(rows)) if rows else None
    return value


def series_of(results: Sequence[Result], varies: Sequence[str]) -> dict[str, list[Result]]:
    """Group the results of one board into states of one model, by a name for each model.

    Two results are states of one model when their cards have the same family (or base model, or name) and agree in
    all but ``varies``. Where two of them would then stand at the same place, as two methods on one base model do,
    results of different names are kept apart.

    Args:
        results: of one board.
        varies: keys of ``STATE``.
    Returns: series by name, each in the order of what varies.
    """
    keyed: dict[tuple[tuple[str, Any], ...], list[Result]] = {}
    for result in results:
        keyed.setdefault(tuple(_shared_facts(result, varies).items()), []).append(result)
    apart: dict[tuple[tuple[str, Any], ...], list[Result]] = {}
    for key, states in keyed.items():
        places = [tuple(state_value(result, name) for name in varies) for result in states]
        for result in states:
            named = (*key, ("name", result.card.name)) if len(set(places)) < len(places) else key
            apart.setdefault(named, []).append(result)
    names = _distinct_names([dict(key) for key in apart])
    return {
        name: sorted(states, key=lambda result: tuple(state_value(result, key) or 0 for key in varies))
        for name, states in zip(names, apart.values(), strict=True)
    }


def short_number(n: int) -> str:
    """Write a count shortly.

    >>> [short_number(n) for n in (0, 1024, 40_000, 22_700_000, 7_000_000_000)]
    ['0', '1,024', '40k', '22.7M', '7B']
    """
    for size, unit in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if n >= max(size, 10_000):
            return f"{n / size:.3g}{unit}"
    return f"{n:,}"


def _shared_facts(result: Result, varies: Sequence[str]) -> dict[str, Any]:
    """Return the facts that all states of a model have in common."""
    card = result.card
    sizes_differ = "parameters" in varies
    model = (card.family or card.base_model) if sizes_differ else (card.base_model or card.family)
    prompted = "shots" in varies and card.paradigm in PROMPTED
    facts: dict[str, Any] = {"model": model or card.name, "paradigm": "prompted" if prompted else card.paradigm}
    facts |= {key: getattr(card, key) for key in STATE if key not in varies}
    if sizes_differ and "tunable_parameters" not in varies:
        # A larger model also has more tunable parameters.
        facts["tunable_parameters"] = None
        facts["tuned"] = card.tunable_parameters in (None, card.parameters)
    return facts | {"model_selection": card.model_selection, "extra_data": card.extra_data}


def _distinct_names(keys: Sequence[dict[str, Any]]) -> list[str]:
    """Return short names of models: models of one name are told apart by what they differ in."""
    names: list[str] = []
    for key in keys:
        alike = [other for other in keys if other["model"] == key["model"]]
        differ = [name for name in key if any(other.get(name) != key[name] for other in alike)]
        parts = [_WORDS.get(name, str)(key[name]) for name in differ if key[name] is not None]
        name = ", ".join([key["model"], *parts])
        # Two different numbers may round to the same text.
        again = sum(other == name or other.startswith(f"{name} #") for other in names)
        names.append(f"{name} #{again + 1}" if again else name)
    return names
