"""Output of ``data fetch``: planned downloads, their terms, and files to be obtained by hand."""

import shlex
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from shiftbench.builders.building.availability import (
    check_command,
    find_readers,
    format_sizes,
    licence_word,
    terms_options,
)
from shiftbench.builders.building.spec_tasks import OwnBenchmark
from shiftbench.builders.fetching.fetch import ALL, Plan, Request
from shiftbench.builders.hub_access import cause
from shiftbench.builders.specs.spec import TaskSpec
from shiftbench.validation.report import InvalidInput, first_line, plural


def plan_lines(plan: Plan, raw: Path, accepted: Collection[str]) -> Iterator[RenderableType]:
    """List the planned downloads by source, and the terms of sources that require acceptance.

    Args:
        plan: the missing files.
        raw: the folder to download to.
        accepted: sources whose terms are accepted, or ``all``.
    """
    if not plan.requests:
        yield "nothing to download"
        return
    agreed = leave_out_refused(plan, accepted).requests
    yield f"to download into {raw}: {_format_sum(agreed)}"
    table = Table(box=None, padding=(0, 2, 0, 2))
    for column in ("source", "files", "size", "licence", "terms"):
        table.add_column(column, justify="right" if column in ("files", "size") else "left")
    for source in dict.fromkeys(request.source for request in plan.requests):
        requests = [request for request in plan.requests if request.source == source]
        accepting = ("accepted" if requests[0] in agreed else "not accepted") if source.terms else ""
        files, size = str(sum(len(each.places) for each in requests)), _format_sizes(requests)
        table.add_row(source.slug, files, size, licence_word(source), accepting)
    yield table
    for source in plan.terms:
        yield _wrap(f"terms of {source.slug} ({source.title}): {source.terms} {source.licence_url or source.url}")


def leave_out_refused(plan: Plan, accepted: Collection[str]) -> Plan:
    """Return a plan without the sources whose terms have not been accepted.

    Args:
        plan: planned downloads.
        accepted: slugs of sources whose terms are accepted, or ``all``.
    """
    terms = tuple(source for source in plan.terms if {ALL, source.slug} & set(accepted))
    requests = (each for each in plan.requests if each.source not in plan.terms or each.source in terms)
    return replace(plan, requests=tuple(requests), terms=terms)


def outcome_lines(plan: Plan, left: Plan, failed: InvalidInput | None, accepted: Collection[str]) -> Iterator[str]:
    """List failed downloads, count successful ones, and explain how to accept terms.

    Args:
        plan: the files missing before.
        left: the files missing now.
        failed: why downloads failed; None if all succeeded.
        accepted: sources whose terms are accepted, or ``all``.
    """
    if failed is not None:
        yield from (f"error: {line}" for line in _list_failures(failed))
    if came := _places(plan) - _places(left):
        yield f"fetched {plural(len(came), 'file')}"
    if refused := [source.slug for source in left.terms if not {ALL, source.slug} & set(accepted)]:
        yield _wrap(f"skipped, because their terms are not accepted: {', '.join(refused)}")
        yield f"  to accept them, add {shlex.join(terms_options(refused))}"


def plan_json(plan: Plan, left: Plan, failed: InvalidInput | None) -> dict[str, Any]:
    """Return the result of ``data fetch`` as JSON data: requested and failed downloads, files to be obtained by hand.

    Args:
        plan: the files missing before.
        left: the files missing now.
        failed: why downloads failed; None if all succeeded.
    """
    lacking = _places(left)
    requests = [
        {
            "source": request.source.slug,
            "files": request.places,
            "size": request.download.size,
            "addresses": request.download.urls,
            "licence": licence_word(request.source),
            "terms": request.source.terms,
            "is_there": not lacking & set(request.places),
        }
        for request in plan.requests
    ]
    by_hand = [
        {"source": source.slug, "files": places, "address": source.url, "instructions": source.instructions}
        for source, places in ((each.source, each.places) for each in left.by_hand)
    ]
    problems = [] if failed is None else [str(problem) for problem in failed.problems]
    return {"requests": requests, "by_hand": by_hand, "problems": problems}


def hand_lines(
    plan: Plan, specs: Sequence[TaskSpec], raws: Sequence[Path], own: OwnBenchmark | None = None
) -> Iterator[str]:
    """List the files to be obtained by hand, numbered: URL, instructions, target folder, how to check them.

    Args:
        plan: the missing files.
        specs: the tasks that need them.
        raws: folders of upstream files; missing files go to the first.
        own: the benchmark, if it is described by a spec.
    """
    if plan.by_hand:
        n_files = sum(len(each.places) for each in plan.by_hand)
        yield f"{plural(n_files, 'file')} of {plural(len(plan.by_hand), 'source')} must be downloaded by hand:"
    readers = find_readers(specs)
    for number, (source, places) in enumerate(((each.source, each.places) for each in plan.by_hand), start=1):
        yield f"{number}. {source.title}"
        yield f"   address: {source.url}"
        yield _wrap(f"   do: {source.instructions.replace('RAW/', f'{raws[0]}/')}")
        yield f"   files: {', '.join(places[:3])}{f' and {len(places) - 3} more' if len(places) > 3 else ''}"
        yield f"   check: {check_command(readers[places[0]].tasks[0], raws, own)}"


def _list_failures(failed: InvalidInput) -> list[str]:
    """List why downloads failed: once if all have the same reason (such as no network), otherwise one by one."""
    reason, problems = cause(failed), failed.problems
    if reason is not None and len(problems) > 1 and all(first_line(reason) in each.found for each in problems):
        said = f"{plural(len(problems), 'download')} failed, each with: {first_line(reason)}"
        return [f"{said}; check the network connection and run it again; finished downloads are kept"]
    return [str(problem) for problem in problems]


def _wrap(line: str) -> str:
    return textwrap.fill(line, 100, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False)


def _places(plan: Plan) -> set[str]:
    return {place for request in plan.requests for place in request.places}


def _format_sum(requests: Sequence[Request]) -> str:
    n_files = sum(len(request.places) for request in requests)
    n_sources = len({request.source.slug for request in requests})
    return f"{plural(n_files, 'file')} of {plural(n_sources, 'source')}, {_format_sizes(requests)}"


def _format_sizes(requests: Sequence[Request]) -> str:
    once = {request.download.urls: request.download.size for request in requests}  # several may name one archive
    return format_sizes(once.values())
