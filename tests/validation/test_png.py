"""Pictures are the same for everybody."""

import struct
from typing import TYPE_CHECKING

import matplotlib
import matplotlib.pyplot as plt

from shiftbench.validation.png import draw_panels, draw_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def write_price(figure: "Figure") -> None:
    figure.text(0.1, 0.5, "$5 and $6")


def size(png: bytes) -> tuple[int, ...]:
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", png[16:24])


def test_the_users_settings_change_nothing_and_stay_as_they_are() -> None:
    plain = draw_png(2, 1, write_price)
    with matplotlib.rc_context({"font.size": 30, "savefig.dpi": 50, "axes.facecolor": "black"}):
        assert draw_png(2, 1, write_price) == plain
        assert matplotlib.rcParams["font.size"] == 30
    assert plt.get_fignums() == []
    assert size(plain) == (200, 100)


def test_bytes_hold_no_clock_and_no_version() -> None:
    png = draw_png(2, 1, write_price)
    assert b"Software" not in png
    assert b"tEXt" not in png


def test_a_style_of_its_own_comes_before_that_of_all() -> None:
    assert draw_png(2, 1, write_price, {"font.size": 12}) != draw_png(2, 1, write_price)


def test_panels_stand_in_rows_and_places_without_one_stay_white() -> None:
    drawn: list[Axes] = []
    png = draw_panels([drawn.append] * 3, columns=2, width=4, heights=[2, 1])
    assert size(png) == (400, 300)
    figure = drawn[0].figure
    assert [axis.axison for axis in figure.axes] == [True, True, True, False]
    first, second, third = (axis.get_position() for axis in drawn)
    assert first.x0 < second.x0
    assert third.y1 < first.y0
