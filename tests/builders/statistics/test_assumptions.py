"""Assumptions: which values are compared, where the worst lies, and when each is met."""

import io
from collections.abc import Mapping

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.statistics import (
    DomainStatistics,
    DuplicateCounts,
    LengthDistance,
    Lengths,
    Repeats,
    SplitRepeats,
    SplitStatistics,
    TaskStatistics,
)
from shiftbench.builders.statistics.assumptions import Assumption, assumption_lines, check_assumptions
from shiftbench.validation.plain_console import print_parts
from shiftbench.validation.vocabulary import TaskKind

LENGTHS = Lengths(mean=1, sd=0, quantiles=(1, 1, 1, 1, 1, 1, 1))
NO_DUPLICATES = DuplicateCounts(within=(), across_splits=(), across_domains=(), examples={}, uncompared=0)


def statistics(
    kind: TaskKind,
    domains: Mapping[str, Mapping[str, SplitStatistics]],
    *,
    straddling: int = 0,
    duplicates: DuplicateCounts = NO_DUPLICATES,
    target_lengths: tuple[LengthDistance, ...] = (),
    no_answer: float | None = None,
) -> TaskStatistics:
    facts = {
        domain: DomainStatistics(
            splits=dict(splits), vocabulary=None, unseen_test_share=None, groups_in_several_splits=straddling
        )
        for domain, splits in domains.items()
    }
    return TaskStatistics(
        kind=kind, domains=facts, divergence={}, depths=(), target_lengths=target_lengths, duplicates=duplicates,
        no_answer_wanted=no_answer,
    )  # fmt: skip


def classes(negative: int, positive: int) -> SplitStatistics:
    labels = {"negative": negative, "positive": positive}
    return SplitStatistics(rows=negative + positive, groups=1, labels=labels, input_words=LENGTHS)


def answered(unanswered: int, rows: int) -> SplitStatistics:
    return SplitStatistics(rows=rows, groups=1, unanswered=unanswered, input_words=LENGTHS)


def found(checked: TaskStatistics, name: str) -> Assumption:
    (assumption,) = [assumption for assumption in check_assumptions(checked) if name in assumption.name]
    return assumption


def test_classes_and_sizes() -> None:
    domains = {
        "books": {"train": classes(50, 50), "test": classes(10, 10)},
        "dvd": {"train": classes(56, 44), "test": classes(10, 10)},
        "kitchen": {"train": classes(49, 49)},
    }
    checked = statistics(TaskKind.CLASSIFICATION, domains)
    sizes = found(checked, "train sizes")
    assert (sizes.holds, sizes.worst, sizes.unit, sizes.where) == (False, 2, "rows", "train: books, kitchen")
    shares = found(checked, "class proportion between")
    assert (shares.holds, shares.worst) == (False, pytest.approx(0.06))
    assert (shares.where, shares.wanted) == ("train, negative: dvd, books", "at most 5.0 points")
    equal = found(checked, "uniform distribution")
    assert (equal.holds, equal.worst, equal.where) == (None, pytest.approx(0.06), "dvd/train, negative")


@pytest.mark.parametrize(("unanswered", "holds"), [(200, True), (210, True), (190, True), (211, False), (0, False)])
def test_no_answer_share_where_the_spec_asks(unanswered: int, holds: bool) -> None:
    domains = {"x": {"train": answered(200, 1000), "test": answered(unanswered, 1000)}}
    share = found(statistics(TaskKind.EXTRACTIVE_QA, domains, no_answer=0.2), "no-answer proportion from 20 points")
    assert share.holds is holds
    assert share.where == ("x/test, no answer" if unanswered != 200 else "")


def test_no_answer_share_where_it_does_not() -> None:
    domains = {"x": {"test": answered(10, 100)}, "y": {"test": answered(30, 100)}}
    share = found(statistics(TaskKind.EXTRACTIVE_QA, domains), "no-answer proportion between domains")
    assert (share.holds, share.worst, share.where) == (False, pytest.approx(0.2), "test, no answer: y, x")


def test_tags_are_for_information() -> None:
    def tags(**counts: int) -> SplitStatistics:
        return SplitStatistics(rows=1, groups=1, tags=counts, input_words=LENGTHS)

    checked = statistics(TaskKind.TAGGING, {"x": {"test": tags(O=9, B=1)}, "y": {"test": tags(O=7, B=3)}})
    assert found(checked, "tag proportion").worst == pytest.approx(0.2)
    assert found(checked, "tag proportion").holds is None


@pytest.mark.parametrize(("distance", "holds"), [(0.1, True), (0.12, False)])
def test_target_lengths(distance: float, holds: bool) -> None:
    worst = (
        LengthDistance(split="train", domains=("x", "y"), distance=0.05),
        LengthDistance(split="test", domains=("x", "z"), distance=distance),
    )
    lengths = found(statistics(TaskKind.GENERATION, {}, target_lengths=worst), "target lengths")
    assert (lengths.holds, lengths.worst, lengths.unit, lengths.where) == (holds, distance, "distance", "test: x, z")


def test_separation_of_splits() -> None:
    def across(exact: int, near: int) -> SplitRepeats:
        return SplitRepeats(domain="x", split="test", other="train", rows=200, exact=exact, near=near)

    def checked(straddling: int, *repeats: SplitRepeats) -> TaskStatistics:
        within = (Repeats(domain="x", split="train", rows=10, exact=2, near=5),)
        counts = DuplicateCounts(within=within, across_splits=repeats, across_domains=(), examples={}, uncompared=0)
        domains = {"x": {"train": classes(1, 1), "test": classes(1, 1)}}
        return statistics(TaskKind.CLASSIFICATION, domains, straddling=straddling, duplicates=counts)

    clean, bad = checked(0, across(0, 2)), checked(3, across(0, 0), across(1, 3))
    names = ("groups in two splits", "rows repeated in another split", "near-duplicates in another split")
    assert [found(clean, name).holds for name in names] == [True, True, True]
    assert [(found(bad, name).holds, found(bad, name).worst) for name in names] == [
        (False, 3),
        (False, 1),
        (False, 0.015),
    ]
    assert found(bad, names[1]).where == "x: test in train"
    assert found(bad, "rows repeated within").worst == 0.2
    assert found(bad, "near-duplicates within").where == "x/train"
    assert found(bad, "near-duplicates in another domain").worst is None


def test_one_domain_has_nothing_to_compare_with() -> None:
    checked = statistics(TaskKind.CLASSIFICATION, {"x": {"train": classes(3, 1)}})
    for name in (
        "train sizes",
        "class proportion between",
        "groups in two splits",
        "repeated in another split",
    ):
        assert (found(checked, name).holds, found(checked, name).worst) == (None, None)


def test_what_is_printed(wording: SnapshotAssertion) -> None:
    domains = {"books": {"train": classes(50, 50)}, "[b]dvd": {"train": classes(60, 40)}}
    console = Console(file=io.StringIO(), width=140)
    print_parts(assumption_lines(check_assumptions(statistics(TaskKind.CLASSIFICATION, domains))), console)
    output = console.file.getvalue()  # type: ignore[attr-defined]
    lines = [line for line in output.splitlines() if "class proportion between" in line]
    assert [cell.strip() for cell in lines[0].split("  ") if cell] == wording
