"""The gaps of a prediction file: what a complete grid would have in addition. Each gap is reported."""

from collections.abc import Iterable, Iterator

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.scoring.scores.replicates import TaskValues, n_train
from shiftbench.scoring.scores.shape import Missing
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES, source_parts

LEFT_OUT = "left out of the means"
"""The first words of the gap of a domain that is too small for the means."""
NO_DEPTHS = "the dataset folder has no depth tables"


def averaged_seeds(values: TaskValues) -> dict[str, set[int]]:
    """Choose each source's seeds that are averaged: those on all of its targets, so that its drops do not mix runs.

    Where no seed is on all of them, each score is the mean over what is there.
    """
    by_source: dict[str, list[set[int]]] = {}
    for (source, _), seeds in values.seeds.items():
        by_source.setdefault(source, []).append(set(seeds))
    return {source: set.intersection(*seeds) or set.union(*seeds) for source, seeds in by_source.items()}


def gaps(values: TaskValues, *, has_depth: bool) -> Iterator[Missing]:
    """List a task's gaps."""
    for domain, n in small_domains(values.info, values.domains).items():
        what = f"{LEFT_OUT}: {n} test texts, fewer than {values.info.min_texts}"
        yield Missing(task=values.name, source=None, target=domain, what=what)
    yield from _score_gaps(values)
    if has_depth:
        yield from _depth_gaps(values)
    elif values.info.min_texts is None:  # own data have depths only if they were requested
        yield Missing(task=values.name, source=None, target=None, what=NO_DEPTHS)


def small_domains(info: TaskInfo, domains: Iterable[str]) -> dict[str, int]:
    """Find domains of own data with too few test texts for a mean: their number of texts by name."""
    least = info.min_texts or 0
    tests = {name: facts.splits["test"].rows for name, facts in info.domains.items() if "test" in facts.splits}
    return {domain: tests[domain] for domain in domains if tests.get(domain, least) < least}


def _score_gaps(values: TaskValues) -> Iterator[Missing]:
    def gap(what: str, source: str | None = None, target: str | None = None) -> Missing:
        return Missing(task=values.name, source=source, target=target, what=what)

    if values.info.metric not in values.scores:
        yield gap(f"no {values.info.metric} without an encoder of tokens (pip install 'shiftbench[encoder]')")
    one_source = bool(values.info.id_domain or values.info.candidates_for)
    trained = [source for source in values.sources if source not in OUTSIDE_SOURCES]
    if values.info.id_domain and trained and values.info.id_domain not in trained:
        yield gap(f"no predictions of a model trained on the ID domain {values.info.id_domain}")
    if not one_source and any(source in values.domains for source in values.sources):
        for domain in values.domains:
            if domain not in values.sources and n_train(values.info, domain):
                yield gap("no predictions of a model trained on it", domain)
    for source in values.sources:
        for target in values.domains:
            if (source, target) not in values.rows and not _at_home_only(values, source):
                yield gap("no predictions", source, target)
    if trained:
        yield from map(gap, _home_gaps(values) if one_source else _pairing_gaps(values))
    for source, kept in averaged_seeds(values).items():
        by_target = {target: set(seeds) for (name, target), seeds in values.seeds.items() if name == source}
        for target, seeds in by_target.items():
            for seed in sorted(set.union(*by_target.values()) - seeds):
                left_out = "" if seed in kept else "; its other scores are left out of the means"
                yield gap(f"no predictions of seed {seed}{left_out}", source, target)


def _at_home_only(values: TaskValues, source: str) -> bool:
    """Return whether a source has only its own test to predict: it gives TT to models trained elsewhere."""
    info = values.info
    return source in values.domains and bool(info.id_domain or info.candidates_for) and source != info.id_domain


def _pairing_gaps(values: TaskValues) -> Iterator[str]:
    """List, once each, what a pairing lacks; nothing of other tasks."""
    whole = values.info.joined_source
    if whole is None:
        return
    if whole not in values.sources:
        yield f"no predictions of a model trained on the whole source {whole}"
    yield "no SS and no TT, so no drops: the pairing has no test rows of its source and no train rows of its target"


def _home_gaps(values: TaskValues) -> Iterator[str]:
    """List, once each, the missing in-domain scores without which single sources have no drops."""
    home = values.info.id_domain
    if home is None:
        elsewhere = sorted({part for source in values.sources for part in _from_elsewhere(values, source)})
        if elsewhere:
            yield f"no SS and no depths: {', '.join(elsewhere)} is in the task {values.info.candidates_for}"
        return
    away = [domain for domain in values.domains if domain != home and (domain, domain) not in values.rows]
    if away:
        untrained = [domain for domain in away if not n_train(values.info, domain)]
        why = f" ({', '.join(untrained)}: no train split)" if untrained else ""
        yield f"no TT, so no TD, on {', '.join(away)}: no predictions of a model trained there{why}"


def _from_elsewhere(values: TaskValues, source: str) -> list[str]:
    return [part for part in source_parts(source) if part not in values.info.domains]


def _depth_gaps(values: TaskValues) -> Iterator[Missing]:
    for source in sorted(source for source, deepest in values.pool_deepest.items() if deepest is None):
        what = (
            "the deepest text of this joined source is the mean of its parts' deepest ones, because the folder's depth "
            "tables lack the deepest of all (folders of builder version 0.1.0, and parts of a pairing's source)"
        )
        yield Missing(task=values.name, source=source, target=None, what=what)
    for source, target in values.shift_cells:
        if _from_elsewhere(values, source):
            continue  # already listed as a missing SS
        if source not in OUTSIDE_SOURCES and (source, target) not in values.effective_n:
            few = [part for part in source_parts(source) if n_train(values.info, part) < 2]
            what = (
                f"no depths: {few[0]} has fewer than two train texts"
                if few
                else "depth weights are all 0: no test text lies further out than the deepest source text"
            )
            yield Missing(task=values.name, source=source, target=target, what=what)
