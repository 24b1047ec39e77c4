"""A choice of data sets as text tables for a terminal: scores and margins in points, similarity as a cosine x 100."""

from collections.abc import Iterator

from rich.console import RenderableType

from shiftbench.scoring.papers.protocol.choice import DatasetChoice, Decision
from shiftbench.scoring.papers.protocol.rule import BREADTH, CHOSEN, DROP, SOURCE_TAKEN, TRAIN_ROWS, UNFIT
from shiftbench.scoring.reports.numbers import plain_points, plain_score
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.estimate import Estimate

_NAME = "data set"
_NONE = "-"
_LESS = {BREADTH: "less breadth", TRAIN_ROWS: "not more train rows"}


def choice_lines(choice: DatasetChoice) -> Iterator[RenderableType]:
    """List the candidates' statistics, similarity and scores, the selection with its reasons, and the notes."""
    yield _statistics(choice)
    if choice.similarity:
        yield _similarity(choice)
    if choice.model is not None:
        rows = [[item.name, _points(item.score), _points(item.drop)] for item in choice.candidates]
        title = f"{choice.task}: {choice.model}, {choice.metric} in points"
        yield PlainTable(title, (_NAME, "score", "drop"), rows)
    yield _selection(choice)
    yield from choice.notes
    ood = "?" if choice.ood is None else ", ".join(choice.ood) or "none"
    yield f"\n{choice.task}: {choice.id or '?'} -> {ood}"


def _statistics(choice: DatasetChoice) -> PlainTable:
    fields = list(dict.fromkeys(field for item in choice.candidates for field in item.words))
    columns = (_NAME, "train", "test", "classes", "smallest\nclass")
    rows = []
    for item in choice.candidates:
        counts = [_count(item.train or None), _count(item.test or None), _count(item.n_classes)]
        words = [f"{_length(item.words[f].train)} / {_length(item.words[f].test)}" for f in fields]
        smallest = _count(item.smallest_class if item.train else None)
        if item.smallest_class_is_bound and item.train:
            smallest = f"≤{smallest}"
        source = " &\n".join(item.text_sources) or "unknown"
        if item.challenge:
            source += "\n(made to be hard" + (f" from {item.made_from})" if item.made_from else ")")
        rows.append([item.name, *counts, smallest, *words, str(item.breadth), source])
    lengths = [f"words of\n{field}\ntrain / test" for field in fields]
    title = f"{choice.task}: candidates, rows and mean lengths"
    return PlainTable(title, (*columns, *lengths, "breadth", "text source"), rows, texts=("text source",))


def _similarity(choice: DatasetChoice) -> PlainTable:
    names = [item.name for item in choice.candidates if item.name in choice.similarity]
    rows = [[a, *(plain_points(choice.similarity[a][b]) for b in names)] for a in names]
    encoder, _, revision = (choice.encoder or "").rpartition("@")
    title = f"{choice.task}: cosine x 100 of mean embeddings of test texts ({encoder or revision}); no part of the rule"
    return PlainTable(title, (_NAME, *names), rows)


def _selection(choice: DatasetChoice) -> PlainTable:
    scored = choice.ood is not None
    columns = (_NAME, "could be the ID", *(("OOD", "why", "margin", "chosen in") if scored else ()))
    rows = []
    for item in choice.candidates:
        could = id_words(item)
        if scored:
            share = _NONE if item.frequency is None else f"{100 * item.frequency:.1f}%"
            chosen = "OOD" if item.chosen else "ID" if item.name == choice.id else "no"
            rows.append([item.name, could, chosen, reason_words(item), _points(item.margin), share])
        else:
            rows.append([item.name, could])
    title = f"{choice.task}: selection" + (
        "; margin in points: how far its score is from changing the decision" if scored else ""
    )
    return PlainTable(title, columns, rows, texts=("could be the ID", "OOD", "why"))


def id_words(item: Decision) -> str:
    """Describe whether a candidate could be the ID, and the deciding reason."""
    if item.id_reason in UNFIT:
        return f"no: {item.id_reason}"
    return "the rule's ID" if item.id_reason == CHOSEN else f"yes; {_LESS[item.id_reason]}"


def reason_words(item: Decision) -> str:
    """Describe why a candidate is OOD or not, with its rival."""
    if item.reason == CHOSEN:
        return f"{CHOSEN}; next: {item.rival}" if item.rival else f"{CHOSEN}; no other candidate"
    if item.reason == SOURCE_TAKEN:
        return f"{SOURCE_TAKEN} by {item.rival}"
    return f"smaller {DROP} than {item.rival}" if item.reason == DROP else item.reason or ""


def _points(estimate: Estimate | None) -> str:
    """Format points with two decimals: candidates may be a few hundredths apart."""
    return _NONE if estimate is None or estimate.value is None else plain_score(estimate, decimals=2)


def _count(value: int | None) -> str:
    return _NONE if value is None else f"{value:,}"


def _length(value: float | None) -> str:
    return _NONE if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"
