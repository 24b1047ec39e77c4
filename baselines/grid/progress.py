"""Running a grid: skip finished trials, run the others, collect results, and report failures at the end."""

import errno
import logging
import os
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import filelock

from shiftbench.baselines.grid.collect import by_entry, collect
from shiftbench.baselines.grid.estimate import duration
from shiftbench.baselines.grid.stored import StoredTrials
from shiftbench.baselines.grid.trial import LOG, EndedTrial, Trial
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem, plural
from shiftbench.validation.vocabulary import PLACEBO

log = logging.getLogger(__name__)
Engine = Callable[[Sequence[Trial], Path], Generator[EndedTrial, None, None]]
"""Runs trials, each in its own folder of ``runs``, and yields each when it ends; closing the generator stops all."""

_SHOWN = 20


def run_grid(trials: Sequence[Trial], out: Path, engine: Engine) -> None:
    """Run the unfinished trials, and write one prediction file and card for each model on each task.

    Args:
        trials: the grid, in the order of its files.
        out: folder for the files; per-trial files are in ``out/runs``.
        engine: runs the trials.
    Raises: InvalidInput listing the failed trials once all others are finished; at once if the disk is full.
    """
    runs = out / "runs"
    with _lock_folder(out), _ended_by_sigterm_as_by_ctrl_c():
        # Real domains before placebos, then by seed: an interrupted grid covers every source once.
        seeds = list(dict.fromkeys(trial.seed for trial in trials))
        waiting = not_done(sorted(trials, key=lambda t: (t.task.endswith(PLACEBO), seeds.index(t.seed))), runs)
        _log_counts(trials, waiting, runs)
        failed = _run_waiting(trials, waiting, runs, out, engine)
        stored = StoredTrials(runs)
        for entry in by_entry(trials):
            collect(entry, stored, out)
    if failed:
        more = len(failed) - _SHOWN
        rest = [Problem(f"{plural(more, 'more trial')} failed", str(runs))] if more > 0 else []
        cure = "run the same command again to retry"
        shown = [
            Problem(f"{each.trial} failed", str(runs / each.trial.folder / LOG), each.error or "", cure)
            for each in failed[:_SHOWN]
        ]
        raise InvalidInput(shown + rest)


def collect_done(trials: Sequence[Trial], out: Path) -> None:
    """Write the prediction file and card of each model on each task from the finished trials, without running any.

    Args: as for ``run_grid``.
    Raises: InvalidInput if no trial is finished.
    """
    runs = out / "runs"
    if len(not_done(trials, runs)) == len(trials):
        cure = "run the command without --collect"
        raise InvalidInput(Problem("no trial of this grid is complete", str(runs), cure=cure))
    with _lock_folder(out):
        _log_counts(trials, not_done(trials, runs), runs)
        stored = StoredTrials(runs)
        for entry in by_entry(trials):
            collect(entry, stored, out)


def not_done(trials: Sequence[Trial], runs: Path) -> list[Trial]:
    """Return the trials without a complete prediction file, neither in their folder below ``runs`` nor packed."""
    stored = StoredTrials(runs)
    return [trial for trial in trials if not stored.is_done(trial)]


def _run_waiting(
    trials: Sequence[Trial], waiting: Sequence[Trial], runs: Path, out: Path, engine: Engine
) -> list[EndedTrial]:
    """Run the waiting trials, write each entry when its last trial is finished, and return the failed trials."""
    unfinished, failed = set(waiting), []
    entry_of = {trial: entry for entry in by_entry(trials) for trial in entry}
    n_done, began = len(trials) - len(waiting), time.monotonic()
    bar = progress(total=len(trials), desc="trials", unit="trial", initial=n_done)
    try:
        with bar, closing(engine(waiting, runs)) as ending:
            for n_ended, ended in enumerate(ending, start=n_done + 1):
                bar.update()
                so_far = f"{n_ended} of {plural(len(trials), 'trial')}; {duration(time.monotonic() - began)} so far"
                if ended.error is None:
                    unfinished.remove(ended.trial)
                    log.info("done: %s (%s)", ended.trial, so_far)
                    entry = entry_of.get(ended.trial)  # a trial of a search belongs to no entry
                    if entry and unfinished.isdisjoint(entry):
                        collect(entry, StoredTrials(runs), out)
                else:
                    failed.append(ended)
                    log.info("failed: %s: %s (%s)", ended.trial, ended.error, so_far)
                    if os.strerror(errno.ENOSPC) in ended.error:  # all others would fail, too
                        raise _disk_is_full(runs)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise _disk_is_full(runs) from error
        raise
    except KeyboardInterrupt:
        n_done = len(trials) - len(unfinished)
        log.info("%d of %s done; run the same command again for the rest", n_done, plural(len(trials), "trial"))
        raise
    return failed


def _log_counts(trials: Sequence[Trial], waiting: Sequence[Trial], runs: Path) -> None:
    """Log how many trials are done and waiting, and how many other trials the folder contains."""
    n_done = len(trials) - len(waiting)
    log.info("%s: %d done, %d to run", plural(len(trials), "trial"), n_done, len(waiting))
    stored = StoredTrials(runs)
    own = {stored.folder(trial) for trial in trials}
    others = {path for trial in own for path in trial.parent.glob("*") if path.is_dir()} - own
    if others:
        why = "with other options, seeds, data, code or versions, are not reused"
        log.info("%s of these models in %s, %s", plural(len(others), "trial"), runs, why)


def _disk_is_full(runs: Path) -> InvalidInput:
    cure = "free some space and run the same command again; completed trials are not repeated"
    return InvalidInput(Problem("the disk is full", str(runs), cure=cure))


@contextmanager
def _lock_folder(out: Path) -> Iterator[None]:
    out.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(out / ".lock", blocking=False):
            yield
    except filelock.Timeout as error:
        cure = "wait until it ends, or choose another folder with --out"
        raise InvalidInput(Problem("another grid is running in this folder", str(out), cure=cure)) from error


@contextmanager
def _ended_by_sigterm_as_by_ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
