"""Periods that a check goes on from: the order of a file's domains, its reference, and the history that runs append to.

A history is a file of JSON lines, one a period in order of the looks: its name, number of texts, groups (texts, mean
score, number of such groups), whether it is of the reference, and a hash of what all lines must share. A run adds all
of its new periods, or none. A period that stands there already is left as it is where it is the same, and refused where
it is not: what a look has seen cannot be seen otherwise later.
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
    """What the user says of time.

    Attributes:
        is_ordered: whether domains that are no dates stand in an order.
        reference: the range of periods that later ones are compared with; None without one.
        history: the file that periods are appended to; None without one.
    """

    is_ordered: bool = False
    reference: str | None = None
    history: Path | None = None


WITHOUT_TIME = TimeOptions()
"""Nothing is said of time; domains that are dates are tested all the same."""


class HistoryLine(PeriodGroups):
    """A line of a history."""

    is_reference: bool
    settings: str


@dataclass
class Follower:
    """Tests of the periods of one check, and of those before it.

    Attributes:
        options: what the user says of time.
        titles: what the file calls its domains, by their names, in the file's order.
        labels: of the task, which a history's lines share.
        appended: lines that the run adds to the history; written by ``save``.
    """

    options: TimeOptions
    titles: Mapping[str, str]
    labels: Sequence[str]
    before: tuple[HistoryLine, ...] = ()
    appended: tuple[HistoryLine, ...] = ()

    def follow(self, targets: Mapping[str, TargetRuns]) -> OverTime | None:
        """Test the periods of a check, and those of its history; None where domains are no periods.

        Raises: InvalidInput where domains are no periods but a reference or a history is named, the reference has no
            period, or a period does not fit the history.
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
            what, cure = "no period has enough texts", "label more of them, or set --min-texts lower"
            raise InvalidInput(Problem(what, "--min-texts", ", ".join(self.titles.values()), cure))
        every = list(dict.fromkeys([*(line.period for line in self.before), *names]))
        timeline = find_timeline(every, is_ordered=self.options.is_ordered) if names else None
        if is_asked and timeline is None:
            what = "a reference or a history needs domains that are periods of one kind"
            cure = (
                "name a column of dates (--columns week=NAME, month, quarter or year), or of 2025-01-31, 2025-W05, "
                "2025-01, 2025-Q1 or 2025; other names need --ordered"
            )
            raise InvalidInput(Problem(what, "--columns domain", ", ".join(every[:8]), cure))
        return timeline

    def _with_history(self, here: Sequence[PeriodGroups], timeline: Timeline, measure: str) -> list[PeriodGroups]:
        """Return the history's periods with the new ones after them, which ``save`` will add."""
        file, settings = str(self.options.history), self._settings(timeline.unit, measure)
        known = {line.period: line for line in self.before}
        problems = []
        if self.before and self.before[0].settings != settings:
            what = "this history is of other scores: the unit of time, the metric or the labels differ"
            problems.append(Problem(what, file, cure="name another file with --history, which begins a new one"))
        last = max((timeline.places[name] for name in known), default=-1)
        new = []
        for each in here:
            line = known.get(each.period)
            if line is None and timeline.places[each.period] > last:
                new.append(each)
            elif line is None:
                what, cure = "a period lies before the last one of the history", "leave its rows out"
                problems.append(Problem(what, file, f"'{each.period}'", cure))
            elif (line.n, line.groups) != (each.n, each.groups):
                what = "a period stands in the history with other scores"
                cure = "leave its rows out, as a look that was taken is not changed; or begin a new history"
                problems.append(Problem(what, file, f"'{each.period}': {line.n:,} texts there, {each.n:,} here", cure))
        chosen = {line.period for line in self.before if line.is_reference}
        if self.options.reference is not None:
            typed = set(timeline.range(self.options.reference))
            if self.before and typed != chosen:
                what = "the reference of a history is fixed by its first run"
                cure = "leave --reference out, or begin a new history"
                problems.append(
                    Problem(what, file, f"'{self.options.reference}'; there {', '.join(sorted(chosen))}", cure)
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
        """Add the run's periods to the history, all of them or none."""
        if self.options.history is None or not self.appended:
            return
        lines = [line.model_dump_json() for line in (*self.before, *self.appended)]
        with replace_file(self.options.history, durable=True) as new:
            new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@contextmanager
def opened_history(options: TimeOptions) -> Iterator[tuple[HistoryLine, ...]]:
    """Read the history, which no other run changes while the context lasts.

    Raises: InvalidInput for a line that is none, with its number.
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
            cure = "restore the file, or begin a new history with another one"
            raise InvalidInput(Problem("this is no line of a history", str(file), found, cure, row=number)) from error
