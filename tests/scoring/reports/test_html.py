"""Elements and templates: every text is escaped, and undefined values are errors."""

import pytest
from jinja2 import UndefinedError

from shiftbench.leaderboard.pages.shell import TEMPLATES, header, page, render
from shiftbench.scoring.reports.frame.html import Markup, join, tag

EVIL = "<script>alert('1')</script>"


def test_every_text_is_escaped_in_elements_and_templates() -> None:
    for written in (tag("p", EVIL, title=EVIL), join([tag("p", EVIL)]), page(EVIL, tag("p", EVIL)), header(EVIL)):
        assert "<script>alert" not in written
        assert isinstance(written, Markup)
    assert "&lt;script&gt;alert" in page(EVIL, Markup(""))


def test_an_element_within_an_element_is_escaped_once() -> None:
    assert tag("p", tag("b", "a & b")) == "<p><b>a &amp; b</b></p>"
    assert "<p>a &amp; b</p>" in page("", tag("p", "a & b"))


def test_a_value_that_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="sign_in"):
        render("gradio.html", daily_quota=None)


def test_no_line_break_of_a_template_stands_between_elements_of_a_page() -> None:
    assert "\n" in (TEMPLATES / "header.html").read_text(encoding="utf-8")
    assert "\n" not in header()


def test_the_chosen_page_is_marked() -> None:
    assert header("data").count('aria-current="page"') == 1
    assert '<a href="/data" aria-current="page">Data</a>' in header("data")
    assert "aria-current" not in header()
