"""The picture: a PNG of the promised width, the same bytes every time, for every task kind and for gaps."""

import struct
from collections.abc import Iterator

import matplotlib as mpl
import pytest

from shiftbench.builders.folder.statistics import (
    DomainStatistics,
    DuplicateCounts,
    Lengths,
    PairDepth,
    SplitStatistics,
    TaskStatistics,
)
from shiftbench.builders.statistics import pictures
from shiftbench.builders.statistics.pictures import statistics_picture
from shiftbench.validation.vocabulary import SPLITS, TaskKind

NAMES = ("relationships", "kitchen", "philosophy", "dvd", "books", "electronics", "restaurants")
LENGTHS = Lengths(mean=12, sd=3, quantiles=(1, 5, 8, 11, 15, 22, 90))


def split(kind: TaskKind) -> SplitStatistics:
    tags = {"O": 50} | {f"{prefix}-T{number}": 5 + number for prefix in "BI" for number in range(10)}
    return SplitStatistics(
        rows=100,
        groups=50,
        labels={"negative": 40, "positive $5": 60} if kind is TaskKind.CLASSIFICATION else {},
        tags=tags if kind is TaskKind.TAGGING else {},
        unanswered=20 if kind is TaskKind.EXTRACTIVE_QA else None,
        input_words=LENGTHS,
        target_words=LENGTHS if kind is TaskKind.GENERATION else None,
    )


def statistics(kind: TaskKind, names: tuple[str, ...], splits: tuple[str, ...] = SPLITS) -> TaskStatistics:
    facts = {
        name: DomainStatistics(
            splits={name: split(kind) for name in splits},
            vocabulary=10,
            unseen_test_share=0.1 if "test" in splits else None,
            groups_in_several_splits=0,
        )
        for name in names
    }
    return TaskStatistics(
        kind=kind,
        domains=facts,
        divergence={a: {b: 0.3 * (a != b) for b in names} for a in names},
        depths=tuple(
            PairDepth(source=a, target=b, q=0.4, mean_depth=1.2) for a in names for b in names if "test" in splits
        ),
        target_lengths=(),
        duplicates=DuplicateCounts(within=(), across_splits=(), across_domains=(), examples={}, uncompared=0),
        no_answer_wanted=None,
    )


def width(png: bytes) -> int:
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    found: int = struct.unpack(">I", png[16:20])[0]
    return found


@pytest.fixture
def _odd_settings() -> Iterator[None]:
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "savefig.bbox": "tight"}):
        yield


@pytest.mark.parametrize("kind", TaskKind)
def test_every_kind_is_drawn(kind: TaskKind) -> None:
    assert width(statistics_picture(statistics(kind, NAMES))) == 1000


@pytest.mark.parametrize(("names", "splits"), [(NAMES[:1], SPLITS), (NAMES[:2], ("train",)), (NAMES[:1], ("test",))])
def test_gaps_are_left_out(names: tuple[str, ...], splits: tuple[str, ...]) -> None:
    assert width(statistics_picture(statistics(TaskKind.CLASSIFICATION, names, splits))) == 1000


def test_a_domain_without_the_drawn_split() -> None:
    facts = statistics(TaskKind.CLASSIFICATION, NAMES[:3])
    short = facts.domains["kitchen"].model_copy(update={"splits": {}})
    drawn = statistics_picture(facts.model_copy(update={"domains": {**facts.domains, "kitchen": short}}))
    assert width(drawn) == 1000


def test_many_domains() -> None:
    names = tuple(f"domain-with-a-long-name-{number}" for number in range(14))
    assert width(statistics_picture(statistics(TaskKind.GENERATION, names))) == 1000


@pytest.mark.usefixtures("_odd_settings")
def test_the_users_settings_change_nothing() -> None:
    facts = statistics(TaskKind.CLASSIFICATION, NAMES[:2])
    odd = statistics_picture(facts)
    with mpl.rc_context(mpl.rcParamsDefault):
        assert statistics_picture(facts) == odd


def test_no_clock_and_no_version_in_the_bytes() -> None:
    png = statistics_picture(statistics(TaskKind.CLASSIFICATION, NAMES[:2]))
    assert b"Software" not in png
    assert b"tEXt" not in png


def test_no_row_is_an_error() -> None:
    with pytest.raises(ValueError, match="rows"):
        statistics_picture(statistics(TaskKind.CLASSIFICATION, NAMES[:2], ()))


def test_rare_tags_are_drawn_together_and_spans_by_type() -> None:
    shown = pictures._shares({"x": split(TaskKind.TAGGING)})["x"]
    total = 50 + 2 * sum(5 + number for number in range(10))
    assert list(shown) == [f"T{number}" for number in range(2, 10)] + ["others"]
    assert shown["T9"] == pytest.approx(2 * 14 / total)
    assert shown["others"] == pytest.approx(2 * (5 + 6) / total)
