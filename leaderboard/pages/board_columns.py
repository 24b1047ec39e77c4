"""The columns of a board's table: what each one holds, how it is written, and which way is better."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.leaderboard.board import Board
from shiftbench.leaderboard.board.boards import ROUND
from shiftbench.leaderboard.board.rows import OOD
from shiftbench.leaderboard.pages.reported import titles
from shiftbench.scoring.scores.coverage import LAMBDAS
from shiftbench.validation.vocabulary import TaskKind

Kind = Literal["score", "drop", "share", "count", "text", "scenarios"]
DROP_HEAD = "ID \N{MINUS SIGN} OOD"


@dataclass(frozen=True)
class Column:
    """One column. ``better`` is the direction of a better value, empty where there is none.

    ``words`` and ``formula`` are what the i-button of its heading says: one sentence, and how the figure is computed.
    """

    key: str
    head: str
    words: str
    kind: Kind
    better: Literal["up", "down", ""] = ""
    default: bool = True
    formula: str = ""

    @property
    def is_figure(self) -> bool:
        """Whether it is a score or a drop, with an interval and a picture."""
        return self.kind in ("score", "drop")

    @property
    def first_order(self) -> Literal["asc", "desc"]:
        """Which way a first click sorts: the best on top, else as an alphabet."""
        return "desc" if self.better == "up" or self.kind == "count" or self.key == "date" else "asc"


def _score(key: str, head: str, words: str, *, default: bool = True, formula: str = "") -> Column:
    return Column(key, head, words, "score", "up", default, formula)


def _drop(key: str, head: str, words: str, *, default: bool = True, formula: str = "") -> Column:
    return Column(key, head, words, "drop", "down", default, formula)


_UNDER_SHIFT = "Score under shift"
_GRID = (
    _score(
        "mean_st",
        f"{_UNDER_SHIFT} (ST)",
        "Score of models on domains that they were not trained on, mean over all shifts; the table is ranked by it.",
        formula="mean of ST(s, t) over all s \N{NOT EQUAL TO} t: trained on domain s, tested on domain t",
    ),
    _score(
        "mean_ss",
        "In domain (SS)",
        "Score of models on the domain that they were trained on, mean over domains.",
        formula="mean of SS(s) over all s: trained and tested on domain s",
    ),
    _drop(
        "average_drop",
        "Average drop",
        "Points lost to the shift on average: +2.1 means that scores are 2.1 points lower on domains not trained on. "
        "Mean SD and mean TD are both equal to it.",
        formula="mean SS \N{MINUS SIGN} mean ST",
    ),
    _drop(
        "worst_sd",
        "Worst source drop (SD)",
        "Largest loss of any shift, compared with the same model on the domain that it was trained on.",
        formula="max of SD(s, t) = SS(s) \N{MINUS SIGN} ST(s, t)",
    ),
    _drop(
        "worst_td",
        "Worst target drop (TD)",
        "Largest loss of any shift, compared with a model trained on the target itself.",
        formula="max of TD(s, t) = TT(t) \N{MINUS SIGN} ST(s, t)",
    ),
)
_SCENARIOS = Column(
    "scenarios",
    "Scenarios",
    "Share of the shifts in each scenario, which the signs of the two drops decide; the key stands above the table.",
    "scenarios",
    formula="signs of SD and TD of each shift",
)
_MEAN_DROPS = (
    _drop(
        "mean_sd",
        "Mean SD",
        "Mean source drop over the shifts with a score.",
        default=False,
        formula="mean of SS(s) \N{MINUS SIGN} ST(s, t)",
    ),
    _drop(
        "mean_td",
        "Mean TD",
        "Mean target drop over the shifts with a score.",
        default=False,
        formula="mean of TT(t) \N{MINUS SIGN} ST(s, t)",
    ),
)
_SHARES = (
    Column(
        "resolved_share",
        "Resolved",
        "Share of the shifts both of whose drops have 95% intervals without 0.",
        "share",
        "up",
        False,
    ),
    Column(
        "unparsed", "Unusable", "Share of outputs that could not be read, which count as wrong.", "share", "down", False
    ),
)
_FACTS = (
    Column(
        "paradigm", "Paradigm", "How the model was adapted: fine-tuned, few-shot, zero-shot.", "text", default=False
    ),
    Column("parameters", "Parameters", "Number of parameters of the model.", "count", default=False),
    Column("base_model", "Base model", "Pretrained model that training started from.", "text", default=False),
    Column("family", "Family", "Model family.", "text", default=False),
    Column("shots", "Shots", "Number of demonstrations in the prompt.", "count", default=False),
    Column("model_selection", "Selection", "Rule by which the model was selected.", "text", default=False),
    Column(
        "tuning_trials", "Trials", "Number of hyperparameter settings tried; 1 without tuning.", "count", default=False
    ),
    Column("extra_data", "Extra data", "Data used besides the source domain.", "text", default=False),
    Column("submitter", "Submitter", "Account that submitted the entry.", "text", default=False),
    Column("n_shifts", "Shifts", "Number of shifts with a score.", "count", default=False),
)
_DATE = Column("date", "Submitted", "Date of submission.", "text", default=False)


def columns_of(board: Board) -> list[Column]:
    """List the columns that a board's table can have, after rank and name."""
    info = board.info
    if not board.folder.has_public_labels:
        return [*_released(board), *(column for column in _FACTS if column.key != "n_shifts"), _DATE]
    if info.id_domain is not None:
        figures = [*_id_ood(board), *_depth(board, "mean over the OOD data sets")]
        figures += [Column(**{**vars(column), "default": False}) for column in (*_GRID[3:], _MEAN_DROPS[1])]
    elif info.joined_source is not None:
        words = f"Score of models trained on {' + '.join(info.joined_source.split('+'))} and tested on the target"
        figures = [
            _score("mean_st", f"{_UNDER_SHIFT} (ST)", f"{words}; the table is ranked by it.", formula="ST"),
            *_depth(board, "of the target's texts"),
        ]
    else:
        figures = [*_GRID, _SCENARIOS, *_depth(board, "mean over all shifts"), *_MEAN_DROPS]
    shares = _SHARES if info.joined_source is None else _SHARES[1:]
    return [*figures, *shares, *_FACTS, _DATE]


def shown_columns(board: Board, chosen: Sequence[str]) -> list[Column]:
    """Return the columns that were chosen, in the table's own order; the default ones where none was."""
    columns = columns_of(board)
    shown = [column for column in columns if column.key in chosen]
    return shown or [column for column in columns if column.default]


def _released(board: Board) -> list[Column]:
    """List the columns of a board of withheld labels: what a round releases, and nothing else."""
    names = titles(board.info)
    words = "Mean score under shift on the ranking half of the labels, as the last round released it"
    return [
        _score(
            "mean_st",
            f"{_UNDER_SHIFT} (ST)",
            f"{words}: mean over targets; the table is ranked by it.",
            formula="mean of ST(s, t) over all s \N{NOT EQUAL TO} t",
        ),
        *(_score(f"{OOD}{domain}", names.get(domain, domain), f"{words}.") for domain in board.single_targets),
        Column(ROUND, "Round", "Release round of these figures.", "text"),
    ]


def _id_ood(board: Board) -> list[Column]:
    info, names = board.info, titles(board.info)
    home = str(info.id_domain)
    folded = ""
    if info.kind is TaskKind.TAGGING:
        folded = " With intervals in full, the score with the four rarer entity types counted as one stands below it."
    away = [domain for domain, facts in info.domains.items() if domain != home and "test" in facts.splits]
    return [
        _score(
            "mean_ood",
            f"{_UNDER_SHIFT} (mean OOD)",
            f"Score on data sets out of distribution (OOD), mean over them; the table is ranked by it.{folded}",
            formula=f"mean over {', '.join(names[domain] for domain in away)}",
        ),
        _score(
            "id_score",
            f"In domain: {names.get(home, home)} (ID)",
            f"Score on the data set that models are trained on (in distribution).{folded}",
        ),
        _drop(
            "drop",
            f"Drop ({DROP_HEAD})",
            "Points lost to the shift: +2.1 means that scores are 2.1 points lower on other data sets. Not applicable "
            "to zero-shot models.",
            formula="ID score \N{MINUS SIGN} mean OOD score",
        ),
        *(
            _score(
                f"{OOD}{domain}",
                names[domain],
                f"Score on {names[domain]}{_texts(info, domain)}, out of distribution (OOD).{folded}",
            )
            for domain in away
        ),
    ]


def _texts(info: TaskInfo, domain: str) -> str:
    """Write in brackets what texts a data set has, where its spec says so."""
    facts = info.domains[domain].provenance
    return f" (texts: {', '.join(facts.text_sources)})" if facts and facts.text_sources else ""


def _depth(board: Board, over: str) -> list[Column]:
    if not board.folder.has_depth:
        return []
    return [
        _score(
            f"depth_f1_{key}",
            f"DF1 λ={key}",
            f"Depth F1, {over}: texts weigh more the further they lie from the source's"
            + (f", and the {key}% most source-like are left out." if key != "0" else "."),
            formula="F1 with weights w(x) = max(0, D(s0) \N{MINUS SIGN} D(x)), D the depth of a text in the source",
        )
        for key in LAMBDAS
    ]
