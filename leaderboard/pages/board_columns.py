"""The columns of a board's table: content, format, and which direction is better."""

from dataclasses import dataclass, replace
from typing import Literal

from shiftbench.leaderboard.board import Board
from shiftbench.leaderboard.board.boards import ROUND
from shiftbench.leaderboard.board.rows import OOD
from shiftbench.leaderboard.pages.reported import titles
from shiftbench.scoring.scores.coverage import LAMBDAS

Kind = Literal["score", "drop", "count", "text", "scenarios"]


@dataclass(frozen=True)
class Column:
    """A column; ``words`` is its explanation below the table; ``is_simple``: the view 'Simple' shows it, too."""

    key: str
    head: str
    words: str
    kind: Kind = "score"
    is_simple: bool = False

    @property
    def is_figure(self) -> bool:
        """Whether it is a score or a drop, with an interval."""
        return self.kind in ("score", "drop")

    @property
    def first_order(self) -> Literal["asc", "desc"]:
        """Sort order of the first click: best first; alphabetical for text."""
        return "desc" if self.kind in ("score", "count") or self.key == "date" else "asc"


_GRID = (
    Column("mean_ss", "In domain", "SS: in-domain score, mean over domains", is_simple=True),
    Column(
        "mean_st",
        "Under shift",
        "ST: score on domains that a model was not trained on, mean over all shifts; used for ranking",
        is_simple=True,
    ),
    Column(
        "average_drop",
        "Loss",
        "mean SS − mean ST (equal to mean SD and mean TD): +2.1 means 2.1 points lower under shift",
        "drop",
        is_simple=True,
    ),
    Column("worst_sd", "Worst SD", "largest source drop SS(s) − ST(s, t) of any shift", "drop"),
    Column(
        "worst_td", "Worst TD", "largest target drop TT(t) − ST(s, t) of any shift: the effect of the shift", "drop"
    ),
    Column(
        "scenarios",
        "Scenarios",
        "proportions of shifts by the signs of SD and TD: Classic (both above 0), Observed (only SD: the target is "
        "harder), Unobserved (only TD: loss hidden by an easier target), No Challenge (neither)",
        "scenarios",
    ),
)
_FACTS = (
    Column("parameters", "Size", "number of parameters", "count"),
    Column("date", "Submitted", "day of submission", "text"),
)


def columns_of(board: Board) -> list[Column]:
    """List the possible columns of a board's table, after rank, name and picture."""
    info, names = board.info, titles(board.info)
    in_domain, under_shift, loss, *others = _GRID
    if not board.folder.has_public_labels:
        words = "mean score under shift on the ranking half of the labels, as rounds before version 0.3 released it"
        targets = [Column(f"{OOD}{domain}", names.get(domain, domain), words) for domain in board.single_targets]
        return [
            replace(under_shift, words=words),
            *targets,
            Column(ROUND, "Round", "the round that released its rank", "text", is_simple=True),
            *_FACTS,
        ]
    depth = [
        Column(
            f"depth_f1_{key}",
            f"DF1 λ={key}",
            _DEPTH + (f", without the {key}% most source-like texts" if key != "0" else ""),
        )
        for key in (LAMBDAS if board.folder.has_depth else ())
    ]
    if info.joined_source is not None:
        words = f"score on the target of models trained on {' and '.join(info.joined_source.split('+'))}"
        return [replace(under_shift, words=words), *depth, *_FACTS]
    if info.id_domain is None:
        return [in_domain, under_shift, loss, *others, *depth, *_FACTS]
    home = str(info.id_domain)
    away = [domain for domain, facts in info.domains.items() if domain != home and "test" in facts.splits]
    listed = ", ".join(names[domain] for domain in away)
    return [
        replace(in_domain, key="id_score", words=f"ID: score on {names.get(home, home)}, which models are trained on"),
        replace(under_shift, key="mean_ood", words=f"OOD: mean score on {listed}; used for ranking"),
        replace(loss, key="drop", words="ID score − mean OOD score: +2.1 means 2.1 points lower on other data sets"),
        *(Column(f"{OOD}{domain}", names[domain], _texts(board, domain)) for domain in away),
        *depth,
        *_FACTS,
    ]


_DEPTH = "Depth F1: target texts are weighted by their distance from the source texts"


def _texts(board: Board, domain: str) -> str:
    """Describe the score column of a data set, with its text sources if the spec states them."""
    facts = board.info.domains[domain].provenance
    of = f"; its texts: {', '.join(facts.text_sources)}" if facts and facts.text_sources else ""
    return f"score on this data set, out of distribution{of}"
