"""Every part of pages in its states, on one page to look at while changing them.

python -m tests.scoring.reports.gallery FILE
"""

from pathlib import Path

import typer
from jinja2 import Environment

from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import (
    UNKNOWN,
    Card,
    Choice,
    Gap,
    GapScale,
    Head,
    Matrix,
    MatrixCell,
)
from shiftbench.scoring.reports.frame.site import load_templates, report_file
from shiftbench.scoring.reports.pictures.rows import gap_picture
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.shape import Estimate


def _score(value: float, half: float = 0.012) -> Estimate:
    return Estimate(value=value, low=value - half, high=value + half)


NO_INTERVAL = Estimate(value=0.61, no_interval="4 groups of texts")
GAPS = {
    "leads": Gap.of("Leader", _score(0.84), _score(0.79), _score(0.05)),
    "gains": Gap.of("Gains under shift", _score(0.71), _score(0.75), _score(-0.04)),
    "no loss": Gap.of("No loss", _score(0.74), _score(0.741), _score(-0.001)),
    "zero-shot": Gap.of("Zero-shot", UNKNOWN, _score(0.68, 0.03), UNKNOWN),
    "no interval": Gap.of("Few groups", Estimate(value=0.66), NO_INTERVAL, Estimate(value=0.05)),
    "at chance": Gap.of("At chance", _score(0.36), _score(0.33), _score(0.03), is_faint=True),
    "no score": Gap.of("Nothing", UNKNOWN, UNKNOWN, UNKNOWN),
}
BADGES = (("leads", "lead"), ("tied", "tied", "with the leader"), ("at chance", "warn"), ("110M",))
CELLS = [_score(0.12), _score(0.05), _score(-0.04), _score(0.004), UNKNOWN, Estimate(value=0.02)]


PLAIN = PlainTable(
    "Scores in points",
    ("Model", "Score", "p", ""),
    [("A\n(home)", "-1.2* [-2.0, -0.4]", "0.012", "significant"), ("B", "n/a", "", "")],
    texts=("",),
    meanings={"p": "for no difference"},
)


def gallery() -> Markup:
    """Draw every macro of ``parts.html`` in each of its states."""
    environment: Environment = load_templates(Path(__file__).parent)
    links = [Choice("fine-tuned", "?a", is_chosen=True, title="chosen"), Choice("zero-shot", "?b")]
    scale = GapScale.over(each for gap in GAPS.values() for each in (gap.home, gap.away))
    cells = [MatrixCell.of_drop(drop, 0.12, title="a shift", address="#matrix") for drop in CELLS]
    own = MatrixCell("82.0", "own", title="in domain")
    chosen = MatrixCell.of_drop(_score(0.09), 0.12, address="#matrix", is_chosen=True)
    names = [f"domain {number}" for number in range(len(CELLS) + 1)]
    rows = [(names[0], [own, *cells]), (names[1], [chosen, own, *cells[1:]])]
    heads = [
        Head("#", "rank"),
        Head("Model", key="name", address="?sort=name", order="ascending"),
        Head("In domain, under shift", "gap-head", scale=scale),
        Head("Under shift", "num", "higher is better"),
        Head(),
    ]
    drawn = gap_picture(list(GAPS.items()), "Gaps as a picture")
    body = environment.get_template("gallery.html").render(
        gaps=GAPS, scale=scale, badges=BADGES, links=links, heads=heads,
        figures=[_score(0.612), NO_INTERVAL, Estimate(value=0.5), UNKNOWN],
        cards=[Card("Benchmark", "#cards", "A sentence.", [("Leader", "A model")]), Card("Door", "#cards")],
        plain=PLAIN,
        second=PLAIN._replace(title="Second"),
        drawn=drawn,
        matrix=Matrix("Losses", "trained on, tested on", names, rows),
    )  # fmt: skip
    return report_file("Parts", [Markup(body)], "python -m tests.scoring.reports.gallery", class_="sb-gallery")


def main(file: Path) -> None:
    """Write the gallery as one HTML file."""
    file.write_text(gallery(), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
