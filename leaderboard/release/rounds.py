"""Rounds: four times a year the nominated entries are ranked on the ranking half.

Nothing else is released from that half. A round releases which entries it separates, and no score (``ranking``). An
entry's account is known from its sign-in; the host sets how old an account must be.

    ROOT/records/nomination-<account>-<number>.json   one entry and task of an account; the last one counts
    ROOT/records/round-<year>-Q<quarter>.json         what the round released, permanently

Boards are computed from entries, with one exception: a round's results are read from its record, and no later metric,
rescoring or round changes them.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta

import polars as pl
from rich.console import RenderableType

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.release.halves import MIN_TEXTS, halves, released_tasks
from shiftbench.leaderboard.release.history import YEAR
from shiftbench.leaderboard.release.ranking import AnswersGiven, Ranking, damage
from shiftbench.leaderboard.release.releases import (
    LeftOut,
    Record,
    Released,
    Round,
    Written,
    append,
    closed_rounds,
    record_bytes,
    records_of,
    round_name,
    today,
)
from shiftbench.leaderboard.store import Entry, Store, find_folder, has_folder
from shiftbench.leaderboard.store.log import RELEASED, Draft, digests_of
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean


def nominate(store: Store, identity: str, account: str, folders: Sequence[DatasetFolder], task: str = "") -> list[str]:
    """Nominate an entry for the next round, in place of the account's earlier nomination for the same task.

    Args:
        store: the store.
        identity: id of the entry.
        account: the account that nominates, which must have submitted the entry.
        folders: gold folders.
        task: a task as ``task`` or ``benchmark/task``; empty for all tasks of the entry.
    Returns: the tasks, as ``benchmark/task``.
    Raises: InvalidInput if the entry is somebody else's, lacks the task, or has public labels.
    """
    store.refuse_banned(account)
    entry = store.entry(identity)
    folder = find_folder(entry.card, folders)
    if entry.submitter != account:
        raise InvalidInput(
            Problem("only the submitter of an entry may nominate it", identity, cure="sign in as its submitter")
        )
    if folder.has_public_labels:
        cure = "no nomination is needed: its scores are on the board"
        raise InvalidInput(Problem("rounds exist only for withheld labels", identity, folder.manifest.benchmark, cure))
    offered = [
        f"{folder.manifest.benchmark}/{name}" for name in entry_tasks(store, entry) & set(released_tasks(folder))
    ]
    chosen = sorted(name for name in offered if not task or task in (name, name.partition("/")[2]))
    if not chosen:
        cure = did_you_mean(task, sorted(offered)) if offered else "submit predictions of a task with a board"
        raise InvalidInput(Problem("the entry has no such task", identity, f"'{task[:80]}'", cure))
    for name in chosen:
        append(store, "nomination", account, lambda before, name=name: _nomination(before, entry, name))  # type: ignore[misc]
    return chosen


def nominated_entries(store: Store) -> dict[tuple[str, str], str]:
    """Return the nominated entries that are not withdrawn, by account and task (``benchmark/task``)."""
    last = {(each["account"], each["task"]): str(each["entry"]) for each in records_of(store, "nomination")}
    present = set(store.ids())
    return {key: identity for key, identity in last.items() if identity in present}


def entry_tasks(store: Store, entry: Entry) -> set[str]:
    """Return the tasks for which an entry has predictions."""
    ids = pl.scan_parquet(store.predictions(entry), glob=False).select(pl.col("id").str.split("/").list.get(1).unique())
    return set(ids.collect()["id"])


def round_of_quarter(store: Store, day: date | None = None) -> Round | None:
    """Return the round of a day's quarter (default today); None if it is not closed."""
    name = round_name(day or today())
    return next((each for each in closed_rounds(store) if each.name == name), None)


def close_round(
    store: Store, folders: Sequence[DatasetFolder], day: date | None = None, *, account_days: int = 0
) -> Round:
    """Rank the nominated entries on their ranking halves, and write the permanent record.

    Entries with damaged files, and entries of accounts that are too young, are excluded; see ``Round.left_out``.

    Args:
        store: the store.
        folders: gold folders; boards of other data keep the results of their last round.
        day: the day; default today. Its quarter is the round.
        account_days: minimum age of an account, in days since it submitted its first entry here.
    Raises: InvalidInput if the round of the quarter or a later one is closed, no labels are withheld, nothing is
        nominated, or no nominated entry can be ranked. Nothing is written then.
    """
    day = day or today()
    name, closed = round_name(day), closed_rounds(store)
    _refuse_out_of_order(name, closed)
    withheld = [folder for folder in folders if not folder.has_public_labels]
    if not withheld:
        cure = "give the gold folder of a build"
        raise InvalidInput(Problem("none of these datasets withholds labels", "--data", cure=cure))
    by_account = nominated_entries(store)
    by_account, young = _old_enough(store, by_account, day - timedelta(days=account_days), account_days)
    entries, left_out = _read_entries(store, by_account)
    year = [board for each in closed if each.closed_on > day - YEAR for board in each.boards]
    given = AnswersGiven.of(store, year)
    labels: dict[str, bytes] = {}
    boards, n_rankings = [], 0
    for folder in withheld:
        folder.refuse_withheld()
        halves(folder)  # damaged gold stops the round; damaged entries do not
        for task, subset, there in _by_board(folder, by_account, entries):
            ranking = Ranking(store, folder, task, subset, given=given, name=name)
            board = ranking.board(there)
            left_out += ranking.left_out
            n_rankings += 1
            if board is not None:
                boards.append(board)
                labels |= ranking.records()
    if not boards:
        raise InvalidInput(_nothing_ranked(name, young, left_out, n_rankings))
    done = Round(name=name, closed_on=day, boards=tuple(boards), left_out=(*young, *left_out))
    file, content = f"round-{name}.json", record_bytes(done.model_dump(mode="json"))
    store.add_records(
        lambda: {file: content, **{each: keys for each, keys in labels.items() if not store.records(each)}},
        Draft(RELEASED, facts={"rounds": digests_of({file: content})}),
    )
    return done


def round_lines(closed: Round) -> Iterator[str | RenderableType]:
    """Format what a round released, one table per board, and the excluded entries."""
    for board in closed.boards:
        rows = [[_place_words(each), each.entry, each.account] for each in board.entries]
        subset = "" if board.subset == "all" else f":{board.subset}"
        title = f"{board.benchmark}/{board.task}{subset}: round {closed.name}"
        yield PlainTable(title, ("rank", "entry", "account"), rows)
    for out in closed.left_out:
        where = f"{out.task}/{out.target}" if out.target else out.task
        yield f"excluded: {out.entry} of {out.account} on {where}: {out.why}"


def _place_words(released: Released) -> str:
    """Format an entry's range of possible ranks.

    >>> entry = Released(entry="e", account="a", place=1, last_place=3, since="2026-Q1", metric_version="7")
    >>> _place_words(entry), _place_words(entry.model_copy(update={"place": 3}))
    ('1 to 3', '3')
    """
    last = released.last_place or released.place
    if released.place is None:
        return "-"
    return str(released.place) if last == released.place else f"{released.place} to {last}"


def _old_enough(
    store: Store, by_account: Mapping[tuple[str, str], str], latest: date, account_days: int
) -> tuple[dict[tuple[str, str], str], list[LeftOut]]:
    """Split nominations by account age: those whose account submitted its first entry by ``latest``, and the others."""
    first_days = store.first_days() if account_days else {}
    young = {key for key in by_account if account_days and first_days.get(key[0], "") > latest.isoformat()}
    why = f"its account first submitted less than {account_days} days ago"
    left_out = [
        LeftOut(entry=by_account[key], account=key[0], task=key[1], target="", why=why) for key in sorted(young)
    ]
    return {key: entry for key, entry in by_account.items() if key not in young}, left_out


def _refuse_out_of_order(name: str, closed: Sequence[Round]) -> None:
    """Raise InvalidInput if a round is closed, or earlier than a closed one, whose results it would change."""
    last = max((each.name for each in closed), default="")
    if name in {each.name for each in closed}:
        raise InvalidInput(Problem("the round of this quarter is closed", name, cure="close the next one next quarter"))
    if name < last:
        cure = "correct this machine's clock; otherwise the next round to close is the one after that"
        raise InvalidInput(Problem("a later round is already closed, and rounds close in order", name, last, cure))


def _nothing_ranked(name: str, young: Sequence[LeftOut], damaged: Sequence[LeftOut], n_rankings: int) -> Problem:
    if young or damaged:
        whys = "; ".join(sorted({f"{each.entry}: {each.why}" for each in (*young, *damaged)})[:5])
        cures = ["restore the damaged files, or ask the submitters to submit them again"] if damaged else []
        cures += ["wait until the accounts are old enough, or set rounds.account_days in board.toml"] if young else []
        return Problem("no nominated entry can be ranked", name, whys, "; ".join(cures))
    if n_rankings:
        cure = "build with more test texts; feedback and rounds need them in each half"
        return Problem(f"no test set has {MIN_TEXTS} texts in each half", name, cure=cure)
    cure = "let submitters nominate: shiftbench board nominate ENTRY --to ..."
    return Problem("no entry is nominated for this dataset", name, cure=cure)


def _nomination(before: Sequence[Record], entry: Entry, task: str) -> Written | None:
    last = next((each for each in reversed(before) if each["task"] == task), None)
    if last is not None and last["entry"] == entry.id:
        return None
    return {"account": entry.submitter, "task": task, "entry": entry.id, "day": today().isoformat()}, {}


def _read_entries(store: Store, by_account: Mapping[tuple[str, str], str]) -> tuple[dict[str, Entry], list[LeftOut]]:
    """Read the nominated entries, by id; those whose card is damaged are excluded."""
    entries, left_out = {}, []
    for (account, title), identity in sorted(by_account.items()):
        try:
            entries[identity] = store.entry(identity)
        except InvalidInput as error:
            left_out.append(LeftOut(entry=identity, account=account, task=title, target="", why=damage(error)))
    return entries, left_out


def _by_board(
    folder: DatasetFolder, by_account: Mapping[tuple[str, str], str], entries: Mapping[str, Entry]
) -> Iterator[tuple[str, str, list[Entry]]]:
    """Group a folder's nominated entries by task and subset."""
    for task in released_tasks(folder):
        mine = [each for (_, title), each in by_account.items() if title == f"{folder.manifest.benchmark}/{task}"]
        here = [entries[each] for each in sorted(mine) if each in entries]
        here = [entry for entry in here if has_folder(entry.card, [folder])]
        for subset in sorted({entry.card.subset for entry in here}):
            yield task, subset, [entry for entry in here if entry.card.subset == subset]
