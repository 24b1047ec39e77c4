"""The columns of a board's table: what each one holds, how it is written, and which way is better."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from leaderboard.board import Board
from leaderboard.board.released import ROUND
from leaderboard.board.rows import LAMBDAS, OOD
from leaderboard.views.reported import titles
from validation.vocabulary import TaskKind

Kind = Literal["score", "drop", "share", "count", "text", "scenarios"]
DROP_HEAD = "ID \N{MINUS SIGN} OOD"


@dataclass(frozen=True)
class Column:
    """One column. ``better`` is the direction of a better value, empty where there is none."""

    key: str
    head: str
    words: str
    kind: Kind
    better: Literal["up", "down", ""] = ""
    default: bool = True

    @property
    def is_figure(self) -> bool:
        """Whether it is a score or a drop, with an interval and a picture."""
        return self.kind in ("score", "drop")

    @property
    def first_order(self) -> Literal["asc", "desc"]:
        """Which way a first click sorts: the best on top, else as an alphabet."""
        return "desc" if self.better == "up" or self.kind == "count" or self.key == "date" else "asc"


def _score(key: str, head: str, words: str, *, default: bool = True) -> Column:
    return Column(key, head, words, "score", "up", default)


def _drop(key: str, head: str, words: str, *, default: bool = True) -> Column:
    return Column(key, head, words, "drop", "down", default)


_GRID = (
    _score("mean_ss", "Mean SS", "in-domain score: trained and tested on the same domain, mean over domains"),
    _score("mean_st", "Mean ST", "cross-domain score: mean over all shifts; the table is ranked by it"),
    _drop("average_drop", "Avg. drop", "mean SS minus mean ST; it equals both mean SD and mean TD"),
    _drop("worst_sd", "Worst SD", "largest source drop, SS minus ST, of any shift"),
    _drop("worst_td", "Worst TD", "largest target drop, TT minus ST, of any shift"),
)
_SCENARIOS = Column(
    "scenarios", "Scenarios", "share of shifts in each scenario, by the signs of SD and TD", "scenarios"
)
_MEAN_DROPS = (
    _drop("mean_sd", "Mean SD", "mean source drop of the shifts that there are", default=False),
    _drop("mean_td", "Mean TD", "mean target drop of the shifts that there are", default=False),
)
_SHARES = (
    Column(
        "resolved_share",
        "Resolved",
        "share of shifts both of whose drops' 95% intervals exclude 0",
        "share",
        "up",
        False,
    ),
    Column("unparsed", "Unparsed", "share of outputs that could not be read (wrong)", "share", "down", False),
)
_FACTS = (
    Column("paradigm", "Paradigm", "how the model came to the task", "text", default=False),
    Column("parameters", "Parameters", "size of the model", "count", default=False),
    Column("base_model", "Base model", "pretrained model that it starts from", "text", default=False),
    Column("family", "Family", "model family", "text", default=False),
    Column("shots", "Shots", "demonstrations in a prompt", "count", default=False),
    Column("model_selection", "Selection", "rule by which the model was selected", "text", default=False),
    Column("tuning_trials", "Trials", "settings tried to choose the model's; 1 without tuning", "count", default=False),
    Column("extra_data", "Extra data", "data used besides the source domain", "text", default=False),
    Column("submitter", "Submitter", "who sent it", "text", default=False),
    Column("n_shifts", "Shifts", "number of shifts that are there", "count", default=False),
)
_DATE = Column("date", "Submitted", "when it was sent", "text", default=False)


def columns_of(board: Board) -> list[Column]:
    """List the columns that a board's table can have, after rank and name."""
    info = board.info
    if not board.folder.has_public_labels:
        return [*_released(board), *(column for column in _FACTS if column.key != "n_shifts"), _DATE]
    if info.id_domain is not None:
        figures = [*_id_ood(board), *_depth(board, "mean over the OOD data sets")]
        figures += [Column(**{**vars(column), "default": False}) for column in (*_GRID[3:], _MEAN_DROPS[1])]
    elif info.joined_source is not None:
        words = f"trained on {' + '.join(info.joined_source.split('+'))}, tested on the target"
        figures = [
            _score("mean_st", "ST", f"{words}; the table is ranked by it"),
            *_depth(board, "of the target's texts"),
        ]
    else:
        figures = [*_GRID, _SCENARIOS, *_depth(board, "mean over all shifts"), *_MEAN_DROPS]
    shares = _SHARES if info.joined_source is None else _SHARES[1:]
    return [*figures, *shares, *_FACTS, _DATE]


def shown_columns(board: Board, chosen: Sequence[str]) -> list[Column]:
    """Give the columns that were chosen, in the table's own order; the default ones where none was."""
    columns = columns_of(board)
    found = [column for column in columns if column.key in chosen]
    return found or [column for column in columns if column.default]


def _released(board: Board) -> list[Column]:
    """List the columns of a board of withheld labels: what a round releases, and nothing else."""
    names = titles(board.info)
    words = "mean score under shift on the ranking half, released by the last round"
    return [
        _score("mean_st", "Mean ST", f"{words}: mean over targets; the table is ranked by it"),
        *(_score(f"{OOD}{domain}", names.get(domain, domain), words) for domain in board.single_targets),
        Column(ROUND, "Round", "the round that the row stands in", "text"),
    ]


def _id_ood(board: Board) -> list[Column]:
    info, names = board.info, titles(board.info)
    home = str(info.id_domain)
    folded = " (below it: the four rarer entity types counted as one)" if info.kind is TaskKind.TAGGING else ""
    away = [domain for domain, facts in info.domains.items() if domain != home and "test" in facts.splits]
    return [
        _score("mean_ood", "Mean OOD", "mean over the OOD data sets; the table is ranked by it" + folded),
        _score(
            "id_score", f"{names.get(home, home)} (ID)", "score on the data set that models are trained on" + folded
        ),
        *(_score(f"{OOD}{domain}", names[domain], "score out of distribution (OOD)" + folded) for domain in away),
        _drop("drop", DROP_HEAD, "ID score minus mean OOD score; zero-shot models have none"),
    ]


def _depth(board: Board, over: str) -> list[Column]:
    if not board.folder.has_depth:
        return []
    return [
        _score(
            f"depth_f1_{key}",
            f"DF1 λ={key}",
            f"Depth F1, {over}: texts weigh more the further they lie from the source's"
            + (f", the {key}% most source-like are left out" if key != "0" else ""),
        )
        for key in LAMBDAS
    ]
