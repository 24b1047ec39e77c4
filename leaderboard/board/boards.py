"""The boards of a store at one moment: one per benchmark, task and subset.

Entries of different subsets never share a board.
"""

import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import polars as pl

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.rows import HOST_NOTE, NO_INTERVAL, OOD, PARTS, SCHEMA
from shiftbench.leaderboard.release import ReleasedBoard
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.vocabulary import PLACEBO

_CONFUSABLES = {
    "a": "аɑαᴀ", "b": "ЬвƄв", "c": "сϲᴄ", "d": "ԁɗ", "e": "еҽєℯε", "f": "ғƒ", "g": "ɡցɢ", "h": "һհнʜ",
    "i": "іıɩιǃӏ1|l!", "j": "јϳ", "k": "кκᴋ", "m": "мᴍ", "n": "ոռпɴ", "o": "оοօσ0ᴏ", "p": "рρᴘ", "q": "ԛզ",
    "r": "гᴦɾʀ", "s": "ѕꜱʂ5", "t": "тτᴛ", "u": "υսʋᴜ", "v": "νѵᴠ", "w": "ԝшωᴡ", "x": "хχ×", "y": "уүγʏ", "z": "ᴢʐ",
    "-": "‐‑‒–—−_.·",
}  # fmt: skip
"""Characters (in lower case) that look like a Latin letter or a hyphen in common fonts: Cyrillic, Greek, Armenian
and phonetic letters, and digits (see Unicode Technical Standard 39, section 4)."""
_PLAIN = str.maketrans({other: letter for letter, others in _CONFUSABLES.items() for other in others})


@lru_cache(maxsize=100_000)
def skeleton(name: str) -> str:
    """Return a key of a name that is equal for names that look the same in common fonts.

    >>> skeleton("\N{CYRILLIC SMALL LETTER A}dmin") == skeleton("Admin"), skeleton("tfidf") == skeleton("TF-IDF")
    (True, True)
    >>> skeleton("bert-base") == skeleton("bert-large")
    False
    """
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    shown = (each for each in decomposed if unicodedata.category(each) not in ("Mn", "Cf", "Cc", "Me", "Zs"))
    return "".join(shown).translate(_PLAIN).replace("rn", "m").replace("vv", "w").replace("-", "")


@dataclass(frozen=True)
class Board:
    """One board's identity: a version of a dataset, one of its tasks, a subset of its test texts."""

    name: str
    folder: DatasetFolder
    task: str
    subset: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the content hash of the data, the subset and the task: the key that all rows of the board share."""
        return self.folder.content_hash, self.subset, self.task

    @property
    def single_targets(self) -> list[str]:
        """List the domains that have their own score column.

        Public labels: all domains except the ID domain; none if the task has no ID domain. Withheld labels: all domains
        with test texts, except an ID domain.
        """
        info = self.info
        if not self.folder.has_public_labels:
            tested = [domain for domain, facts in info.domains.items() if "test" in facts.splits]
            return [domain for domain in tested if domain != info.id_domain]
        return [domain for domain in info.domains if info.id_domain not in (None, domain)]

    @property
    def info(self) -> TaskInfo:
        """Return the task's facts."""
        return self.folder.task(self.task)

    @property
    def why_no_shift(self) -> str | None:
        """Return why no model trained on the task's domains can be scored; None if they can be."""
        info = self.info
        if info.joined_source is not None:
            return None
        if info.id_domain is not None:
            known = info.id_domain in info.domains
            return (
                None
                if known
                else f"this folder lacks the data set {info.id_domain}, on which the task's models are trained"
            )
        tested = [domain for domain, facts in info.domains.items() if "test" in facts.splits]
        if len(tested) > 1:
            return None
        return f"this folder has test texts of only one domain, {tested[0]}" if tested else "it has no test texts"


def by_content(folders: Sequence[DatasetFolder]) -> dict[str, DatasetFolder]:
    """Return the dataset of each content hash; a gold folder replaces the public folder with the same hash.

    Raises: InvalidInput if two have the same rows but different settings, since a board's key covers only the rows.
    """
    found: dict[str, DatasetFolder] = {}
    for folder in folders:
        known = found.setdefault(folder.content_hash, folder)
        if known.version.difference(folder.version):
            what, cure = "two datasets have the same rows but different settings", "serve one of them"
            both = f"{known.path} ({known.version}) and {folder.path} ({folder.version})"
            raise InvalidInput(Problem(what, "leaderboard", both, cure))
        if known.manifest.withholds_labels:
            found[folder.content_hash] = folder
    return found


def boards_of(folders: Sequence[DatasetFolder], used: Collection[tuple[str, str]] = ()) -> list[Board]:
    """List the boards: one for every task's full test set, and one for each of its subsets in ``used``.

    Excluded are placebo tasks, whose scores are shown with those of their original task, and tasks with candidates for
    a benchmark's data sets, which are not part of the benchmark. A public and a gold folder have the same hash; the
    gold one is used. Names are ``benchmark/task``, plus ``:subset`` unless it is 'all', plus ``@hash`` if several
    versions of one benchmark are served.
    """
    served = by_content(folders).values()
    versions = Counter(folder.manifest.benchmark for folder in served)
    boards = []
    for folder in served:
        benchmark = folder.manifest.benchmark
        version = f"@{folder.content_hash[:8]}" if versions[benchmark] > 1 else ""
        for task, info in folder.manifest.tasks.items():
            if info.candidates_for or task.endswith(PLACEBO):
                continue
            for subset in ("all", *(name for name in info.subsets if name != "all")):
                if subset == "all" or (folder.content_hash, subset) in used:
                    name = f"{benchmark}/{task}" + ("" if subset == "all" else f":{subset}") + version
                    boards.append(Board(name, folder, task, subset))
    return boards


def find_board(name: str, choices: Sequence[Board]) -> Board:
    """Find a board by its name, such as ``dr/nli``; InvalidInput proposes the nearest one."""
    for board in choices:
        if board.name == name:
            return board
    cure = did_you_mean(name[:80], [board.name for board in choices]) if choices else "this server has no dataset"
    raise InvalidInput(Problem("there is no such board", "leaderboard", f"'{name[:80]}'", cure))


def rows_of(board: Board, rows: pl.DataFrame) -> pl.DataFrame:
    """Select a board's rows."""
    data, subset, task = board.key
    return rows.filter(pl.col("data") == data, pl.col("subset") == subset, pl.col("task") == task)


PLACES = pl.Schema(
    {
        "rank": pl.Int64(),
        "rank_low": pl.Int64(),
        "rank_high": pl.Int64(),
        "rank_about": pl.String(),
        "with_leader": pl.Boolean(),
        "corrected": pl.Float64(),
        "same_name": pl.String(),
        "look_alike": pl.Boolean(),
        HOST_NOTE: pl.String(),
        "copies": pl.List(pl.String),
        "words": pl.String(),
    }
)
"""Columns that a board adds to its rows (``shiftbench.leaderboard.board.rows.SCHEMA``, then the board's scores on
single domains).

- ``rank``: 1 is best, equal scores share a rank; null for partial entries.
- ``rank_low``, ``rank_high``: its 95% interval; null for partial entries, without replicates, and until computed.
- ``rank_about``, ``with_leader``, ``corrected``: see ``shiftbench.leaderboard.board.ranks.INTERVALS``; null if
``rank_low`` is null.
- ``same_name``: the first digits of the id if another entry has the same name, else null.
- ``look_alike``: whether an entry of another submitter has a name that looks the same.
- ``host_note``: the host's note on the entry; null without a note.
- ``copies``: names and submitters of later entries with the same predictions, which have no row; null if none.
- ``words``: the text that searches match, in lower case; never null.

Rows: complete entries by rank, then partial ones by mean ST; ties are ordered by name and id.
"""


def board_frame(board: Board, rows: pl.DataFrame) -> pl.DataFrame:
    """Return a board's sorted rows with the columns of ``PLACES``; intervals of ranks are still null."""
    away = [f"{OOD}{domain}" for domain in board.single_targets]
    absent: dict[str, pl.DataType] = {f"{figure}{part}": pl.Float64() for figure in away for part in PARTS}
    absent |= {f"{figure}{NO_INTERVAL}": pl.String() for figure in away}
    names = [*SCHEMA, *absent]
    mine = rows_of(board, rows)
    absent |= {name: PLACES[name] for name in ("copies", HOST_NOTE)}
    mine = mine.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in absent.items() if name not in mine)
    looks = pl.Series("looks", [skeleton(name) for name in mine["name"]], pl.String)
    by_score = pl.when("complete").then("mean_st")
    folded = pl.col("name").str.to_lowercase()
    searched = [pl.col(name).fill_null("") for name in ("name", "base_model", "family", "submitter", "id")]
    return (
        mine.select(*names, "copies", HOST_NOTE, looks)
        .with_columns(
            rank=by_score.rank("min", descending=True).cast(pl.Int64),
            rank_low=pl.lit(None, PLACES["rank_low"]),
            **{name: pl.lit(None, PLACES[name]) for name in ("rank_high", "rank_about", "with_leader", "corrected")},
            same_name=pl.when(folded.len().over(folded) > 1).then(pl.col("id").str.head(6)),
            look_alike=pl.col("submitter").n_unique().over("looks") > 1,
            words=pl.concat_str(searched, separator="\n").str.to_lowercase(),
        )
        .select(*names, *PLACES)
        .sort("rank", "mean_st", folded, "id", descending=[False, True, False, False], nulls_last=True)
    )


@dataclass(frozen=True)
class Unscored:
    """An entry without scores, and the reasons. ``name`` is its model's, or its id if the card is unreadable."""

    id: str
    name: str
    reasons: tuple[str, ...]
    files: tuple[int, ...] = ()
    """Size and time stamps of its files: the entry is read again when they change."""
    waiting: bool = False
    """Whether it will be scored."""


@dataclass(frozen=True)
class Snapshot:
    """The entries read at one moment. A snapshot never changes, so requests and the ranking thread need no lock.

    ``every`` has the rows of all scored entries (``rows.SCHEMA``), ``rows`` the subset shown and ranked on boards, with
    ``copies``. ``unread`` counts entries not read yet. ``frames`` caches the results of ``Index.frame`` by board name,
    and ``placed`` the rank intervals joined into them.
    """

    folders: Sequence[DatasetFolder]
    every: pl.DataFrame
    rows: pl.DataFrame
    ids: frozenset[str]
    unscored: dict[str, Unscored]
    unread: int = 0
    frames: dict[str, pl.DataFrame] = field(default_factory=dict)
    placed: dict[str, pl.DataFrame] = field(default_factory=dict)
    _boards: list[Board] = field(default_factory=list)

    def boards(self) -> list[Board]:
        """List the boards (cached)."""
        if not self._boards:
            used = self.rows.select("data", "subset").unique()
            self._boards[:] = boards_of(self.folders, set(used.iter_rows()))
        return self._boards


ROUND = "round"
"""The first column of a board with withheld labels: the round that released the row's scores."""


def released_frame(frame: pl.DataFrame, release: tuple[str, ReleasedBoard] | None) -> pl.DataFrame:
    """Join a board's rows with the results that a round released; entries without released results come last.

    ``release`` is the round's name and its results on the board; None before the first round. Replaced columns are
    ``complete``, ``rank``, its bounds and ``with_leader``; ``ROUND`` is added. Only rounds before version 0.3 have
    ``mean_st`` and scores on single targets.
    """
    targets = [name for name in frame.columns if name.startswith(OOD) and "." not in name.removeprefix(OOD)]
    figures = ["mean_st", *targets]
    ranks = {"rank": pl.Int64, "rank_low": pl.Int64, "rank_high": pl.Int64, "with_leader": pl.Boolean}
    schema = {"id": pl.String, **dict.fromkeys(figures, pl.Float64), **ranks, ROUND: pl.String}
    rows = [
        {
            "id": each.entry,
            "mean_st": each.mean,
            **{name: (each.targets or {}).get(name.removeprefix(OOD)) for name in targets},
            "rank": each.place,
            "rank_low": None if each.last_place is None else each.place,
            "rank_high": each.last_place,
            "with_leader": each.with_leader,
            ROUND: name_of_round,
        }
        for name_of_round, board in ([release] if release else [])
        for each in board.entries
    ]
    released = pl.DataFrame(rows, schema=schema, orient="row")
    joined = frame.drop(*figures, *ranks).join(released, on="id", how="left", maintain_order="left")
    partial = pl.lit(["some shifts used for ranking are missing"])
    missing = pl.when(pl.col(ROUND).is_not_null()).then(partial).otherwise("missing")
    joined = joined.with_columns(complete=pl.col("rank").is_not_null(), missing=missing)
    order = [pl.col("rank"), pl.col("mean_st"), pl.col("name").str.to_lowercase(), pl.col("id")]
    return joined.select(*frame.columns, ROUND).sort(order, descending=[False, True, False, False], nulls_last=True)
