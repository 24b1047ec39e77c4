"""The parts of pages: each macro renders each of its states, escaped, with colours only from the tokens."""

import re
from pathlib import Path

import pytest

from shiftbench.scoring.reports.frame import site
from shiftbench.scoring.reports.frame.parts import UNKNOWN, Gap, GapScale, MatrixCell
from shiftbench.scoring.reports.frame.sentences import TEMPLATES
from shiftbench.scoring.reports.frame.site import load_templates
from shiftbench.scoring.scores.shape import Estimate
from tests.scoring.reports.gallery import GAPS, gallery

CSS = Path(site.__file__).parent / "css"
EVIL = "<script>alert('1')</script>"


def _drawn(macro: str, *values: object) -> str:
    module = load_templates().get_template("parts.html").module
    return str(getattr(module, macro)(*values))


def test_the_gallery_calls_every_macro() -> None:
    macros = set(re.findall(r"macro (\w+)", (TEMPLATES / "parts.html").read_text(encoding="utf-8")))
    used = Path(__file__).with_name("gallery.html").read_text(encoding="utf-8")
    inside = (TEMPLATES / "parts.html").read_text(encoding="utf-8")
    assert {name for name in macros if f"parts.{name}(" not in used and f"{{{{ {name}(" not in inside} == set()


def test_the_gallery_has_every_state() -> None:
    page = str(gallery())
    assert page.count('<svg class="sb-gap') >= len(GAPS)
    for kind in ("loss", "gain", "faint", "own"):
        assert f'class="sb-cell-{kind}"' in page
    for kind in ("lead", "tied", "warn"):
        assert f"sb-badge-{kind}" in page
    assert "4 groups of texts" in page
    assert 'aria-sort="ascending"' in page
    assert "<th></th>" not in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=.https?:", page)


@pytest.mark.parametrize(
    ("name", "loss", "gain", "dots", "bars"),
    [
        ("leads", 1, 0, 2, 2),
        ("gains", 0, 1, 2, 2),
        ("zero-shot", 0, 0, 1, 1),
        ("no interval", 1, 0, 2, 0),
        ("no score", 0, 0, 0, 0),
    ],
)
def test_a_gap_shows_what_is_known(name: str, loss: int, gain: int, dots: int, bars: int) -> None:
    scale = GapScale.over(each for gap in GAPS.values() for each in (gap.home, gap.away))
    drawn = _drawn("gap", GAPS[name], scale)
    found = [drawn.count(part) for part in ("sb-gap-loss", "sb-gap-gain", "<circle", "sb-gap-ci")]
    assert found == [loss, gain, dots, bars]


def test_a_gap_stands_where_its_scores_are() -> None:
    scale = GapScale.over([Estimate(value=0.5), Estimate(value=0.8, low=0.7, high=0.9)])
    assert (scale.ticks[0], scale.ticks[-1]) == (0.5, 0.9)
    assert [scale.at(value) for value in (0.5, 0.7, 0.9, 0.2, 1.0)] == [0.0, 50.0, 100.0, 0.0, 100.0]
    gap = Gap.of("M", Estimate(value=0.8), Estimate(value=0.7), Estimate(value=0.1))
    assert re.findall(r"[\d.]+", gap.words) == ["80.0", "70.0", "10.0"]
    places = re.findall(r'cx="([\d.]+)%"', _drawn("gap", gap, scale))
    assert places == ["75.0", "50.0"]


def test_a_cell_that_is_not_shown_to_differ_from_0_is_faint_and_the_deepest_is_the_largest() -> None:
    sure, unsure = Estimate(value=0.1, low=0.02, high=0.18), Estimate(value=0.1, low=-0.01, high=0.2)
    assert MatrixCell.of_drop(sure, 0.2).kind == "loss"
    assert MatrixCell.of_drop(unsure, 0.2).kind == "faint"
    assert MatrixCell.of_drop(Estimate(value=0.1), 0.2).kind == "faint"
    assert MatrixCell.of_drop(Estimate(value=-0.1, low=-0.2, high=-0.02), 0.2).kind == "gain"
    assert MatrixCell.of_drop(sure, 0.1).part == 2 * (MatrixCell.of_drop(sure, 0.2).part or 0)


def test_words_are_escaped() -> None:
    scale = GapScale.over([Estimate(value=0.5)])
    for drawn in (
        _drawn("badge", EVIL, "", EVIL),
        _drawn("gap", Gap(UNKNOWN, UNKNOWN, EVIL), scale),
        _drawn("heading", "id", EVIL),
        _drawn("empty", EVIL, EVIL),
    ):
        assert "<script" not in drawn
        assert "&lt;script" in drawn


def test_colours_are_those_of_the_tokens() -> None:
    """Check that colours are defined only in the tokens file, including those of shadows and icon strokes."""
    for file in CSS.glob("*.css"):
        if file.name != "tokens.css":
            text = re.sub(r"url\(\"data:[^\"]*\"\)|#0003", "", file.read_text(encoding="utf-8"))
            assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?![^{]*{)", text) == [], file.name
