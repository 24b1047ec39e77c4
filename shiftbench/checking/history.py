"""Monitoring over time: the order of a file's periods, the reference, and the history that runs append to.

A history is a file of JSON lines, one per period in the order of the analyses: its name, number of texts, groups
(texts, mean score, number of such groups), whether it belongs to the reference, and a hash of the settings that all
lines must share. A run adds all of its new periods, or none. A period already in the history is skipped if it is
identical, and refused otherwise: past analyses cannot be changed.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pydantic
from filelock import FileLock

from shiftbench.scoring.scores.outcomes import TargetRuns
from shiftbench.scoring.scores.over_time import measure_of, over_time, period_groups
from shiftbench.scoring.scores.shape import OverTime, PeriodGroups
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.periods import OTHER, Timeline, find_timeline
from shiftbench.validation.report import InvalidInput, Problem


@dataclass(frozen=True)
class TimeOptions:
    """Options of a check whose domains are periods of time.

    Attributes:
        is_ordered: whether domains that are not dates are ordered, too.
        reference: the range of periods that later ones are compared with, such as ``2025-01..2025-06``; None: no
            comparison.
        history: the file that periods are appended to; None: no history.
    """

    is_ordered: bool = False
    reference: str | None = None
    history: Path | None = None


WITHOUT_TIME = TimeOptions()
"""Default options; domains that are dates are still tested for a trend and a change."""


class HistoryLine(PeriodGroups):
    """A period in a history file."""

    is_reference: bool
    settings: str


@dataclass
class Follower:
    """Tests over the periods of a check and of its history, to which ``save`` adds the new ones.

    Attributes:
        options: reference, history and order of the periods.
        titles: maps names of domains in the dataset to those in the file, in the file's order.
        labels: the task's labels, which all lines of a history must share.
        before: lines of the history.
        appended: lines that the run adds to the history; written by ``save``.
    """

    options: TimeOptions
    titles: Mapping[str, str]
    labels: Sequence[str]
    before: tuple[HistoryLine, ...] = ()
    appended: tuple[HistoryLine, ...] = ()

    def follow(self, targets: Mapping[str, TargetRuns]) -> OverTime | None:
        """Test the periods of a check and of its history; None if domains are not periods.

        Raises: InvalidInput if domains are not periods but a reference or a history is given, the reference contains no
            period, or a period contradicts the history.
        """
        names = [title for domain, title in self.titles.items() if domain in targets]
        timeline = self._timeline(names)
        if timeline is None:
            return None
        domains = {self.titles[domain]: domain for domain in targets}
        measure = measure_of(next(iter(targets.values())))
        here = [period_groups(name, targets[domains[name]]) for name in timeline.places if name in domains]
        if self.options.history is not None:
            here = self._with_history(here, timeline, measure)
        reference: Sequence[str] = [line.period for line in here if isinstance(line, HistoryLine) and line.is_reference]
        if self.options.history is None and self.options.reference is not None:
            reference = timeline.range(self.options.reference)
        return over_time(here, timeline.places, timeline.unit, measure, reference)

    def _timeline(self, names: Sequence[str]) -> Timeline | None:
        is_asked = self.options.reference is not None or self.options.history is not None
        if is_asked and not names:
            what, cure = "no period has enough texts", "label more texts, or lower --min-texts"
            raise InvalidInput(Problem(what, "--min-texts", ", ".join(self.titles.values()), cure))
        every = list(dict.fromkeys([*(line.period for line in self.before), *names]))
        timeline = find_timeline(every, is_ordered=self.options.is_ordered) if names else None
        if is_asked and timeline is None:
            what = "a reference or a history needs domains that are periods of the same unit"
            cure = (
                "choose a column of dates (--columns week=NAME, or month, quarter, year), or of values such as "
                "2025-01-31, 2025-W05, 2025-01, 2025-Q1 or 2025; other values need --ordered"
            )
            raise InvalidInput(Problem(what, "--columns domain", ", ".join(every[:8]), cure))
        return timeline

    def _with_history(self, here: Sequence[PeriodGroups], timeline: Timeline, measure: str) -> list[PeriodGroups]:
        """Return the history's periods followed by the new ones, which ``save`` will add."""
        file, settings = str(self.options.history), self._settings(timeline.unit, measure)
        known = {line.period: line for line in self.before}
        problems = []
        if self.before and self.before[0].settings != settings:
            what = "this history does not match: its unit of time, metric or labels differ"
            problems.append(Problem(what, file, cure="give another file with --history, to start a new one"))
        last = max((timeline.places[name] for name in known), default=-1)
        new = []
        for each in here:
            line = known.get(each.period)
            if line is None and timeline.places[each.period] > last:
                new.append(each)
            elif line is None:
                what, cure = "a period is earlier than the last one in the history", "drop its rows"
                problems.append(Problem(what, file, f"'{each.period}'", cure))
            elif (line.n, line.groups) != (each.n, each.groups):
                what = "the history already contains a period with different scores"
                cure = "drop its rows, because past analyses cannot be changed, or start a new history"
                found = f"'{each.period}': {line.n:,} texts in the history, {each.n:,} in the data"
                problems.append(Problem(what, file, found, cure))
        chosen = {line.period for line in self.before if line.is_reference}
        if self.options.reference is not None:
            typed = set(timeline.range(self.options.reference))
            if self.before and typed != chosen:
                what = "the reference of a history is fixed by its first run"
                cure = "omit --reference, or start a new history"
                problems.append(
                    Problem(what, file, f"'{self.options.reference}', not {', '.join(sorted(chosen))}", cure)
                )
            chosen = typed
        elif not self.before:
            chosen = {each.period for each in here}
        if problems:
            raise InvalidInput(problems)
        self.appended = tuple(
            HistoryLine(**each.model_dump(), is_reference=each.period in chosen, settings=settings) for each in new
        )
        return [*self.before, *self.appended]

    def _settings(self, unit: str, measure: str) -> str:
        order = unit if unit != OTHER else "--ordered"
        return hashlib.sha256("\0".join([order, measure, *self.labels]).encode()).hexdigest()[:16]

    def save(self) -> None:
        """Add the run's periods to the history, all or none."""
        if self.options.history is None or not self.appended:
            return
        lines = [line.model_dump_json() for line in (*self.before, *self.appended)]
        with replace_file(self.options.history, durable=True) as new:
            new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@contextmanager
def opened_history(options: TimeOptions) -> Iterator[tuple[HistoryLine, ...]]:
    """Read the history, and lock it against other runs while the context lasts.

    Raises: InvalidInput for an invalid line, with its number.
    """
    file = options.history
    if file is None:
        yield ()
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(file.with_name(f".{file.name}.lock")):
        yield tuple(_read_lines(file)) if file.exists() else ()


def _read_lines(file: Path) -> Iterator[HistoryLine]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            yield HistoryLine.model_validate_json(line)
        except pydantic.ValidationError as error:
            fault = error.errors()[0]
            found = f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
            cure = "restore the file, or start a new history in another file"
            raise InvalidInput(
                Problem("this is not a valid line of a history", str(file), found, cure, row=number)
            ) from error
