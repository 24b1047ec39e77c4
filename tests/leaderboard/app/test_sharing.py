"""Pictures of pages as files, and pages in frames: what they show, of what they are, and that names stay text."""

import html
import re
import struct
import xml.etree.ElementTree as ET

import httpx
import pytest

from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.addresses import compare_address, entry_address, picture_address
from shiftbench.scoring.reports.numbers import points
from shiftbench.scoring.reports.pictures.files import picture_styles
from tests.leaderboard.conftest import GOOD, PARTIAL, POOR, SCRIPT, Filled

SVG = "{http://www.w3.org/2000/svg}"


def size_of(png: bytes) -> tuple[int, int]:
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def letters(svg: str) -> str:
    return "\n".join("".join(each.itertext()) for each in ET.fromstring(svg).iter() if each.tag.endswith("text"))


def has_ink(png: bytes) -> bool:
    """Return whether a picture is more than a white sheet, which compresses to a few kilobytes."""
    return len(png) > 15_000


def test_front_page_boards_entry_and_comparison_have_a_picture_a_frame_and_a_citation(
    pages_served: tuple[str, Filled],
) -> None:
    url, filled = pages_served
    ids = [filled.entries[name].id for name in ("good", "poor")]
    pages = [
        "/",
        "/?benchmark=synthetic",
        "/?board=synthetic/nli",
        entry_address(ids[0], "nli"),
        compare_address(ids, "nli"),
    ]
    for path in pages:
        for _ in range(50):
            if 'id="comparing"' not in (page := httpx.get(url + path).text):
                break
        found = re.search(r'<meta property="og:image" content="([^"]+)">', page)
        assert found, path
        address = found[1].replace("&amp;", "&")
        assert address.startswith(f"{url}/picture.png?of=/")
        picture = httpx.get(address)
        assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png"), picture.text
        assert size_of(picture.content) == (1200, 630)
        assert has_ink(picture.content)
        assert f'<a href="{html.escape(path)}" id="share-link">Link</a>' in page
        (svg,) = re.findall(r'<a href="(/picture[.]svg[?]of=[^"]+)">SVG</a><details>', page)
        assert httpx.get(url + html.unescape(svg)).headers["content-type"] == "image/svg+xml"
        (frame,) = re.findall(r"&lt;iframe src=&#34;([^ ]+)&#34; width", page) or re.findall(
            r'&lt;iframe src="([^ ]+)" width', page
        )
        assert httpx.get(html.unescape(frame)).status_code == 200
        (bibtex,) = re.findall(r'<pre id="share-bibtex"[^>]*>([^<]+)</pre>', page)
        fields = dict(re.findall(r"^  (\w+) = {(.*)},?$", html.unescape(bibtex), re.MULTILINE))
        assert {"author", "title", "year", "url", "note"} == set(fields)
        assert fields["url"] == url + path
        assert re.fullmatch("20[0-9]{2}", fields["year"])


def test_a_boards_picture_has_its_leaders_with_their_scores(index: Index, pages_served: tuple[str, Filled]) -> None:
    url, _ = pages_served
    text = letters(httpx.get(f"{url}/picture.svg", params={"of": "/?board=synthetic/nli"}).text)
    assert all(name in text for name in (GOOD, POOR, "Inference"))
    assert PARTIAL not in text


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_every_picture_of_an_entry_is_a_file(pages_served: tuple[str, Filled], kind: str) -> None:
    url, filled = pages_served
    page = httpx.get(f"{url}/entry?id={filled.entries['good'].id}&tab=statistics").text
    links = [
        each.replace("&amp;", "&") for each in re.findall(rf'href="(/picture\.{kind}\?of=[^"]+&amp;name=[^"]+)"', page)
    ]
    assert len(links) == page.count("<figure") == 2
    for each in links:
        answer = httpx.get(url + each)
        assert answer.status_code == 200, answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert size_of(answer.content)[0] > 800 if kind == "png" else "<style>" in answer.text


def test_a_picture_by_itself_has_its_colours_and_needs_nothing_else(pages_served: tuple[str, Filled]) -> None:
    url, filled = pages_served
    of = entry_address(filled.entries["script"].id, "nli", [("tab", "statistics")])
    text = httpx.get(url + picture_address("svg", of, "scenarios")).text
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert not {each.tag.removeprefix(SVG) for each in root.iter()} & {"script", "foreignObject", "image", "a"}
    assert SCRIPT not in text
    assert SCRIPT in letters(text)
    assert "var(" not in text
    assert "light-dark" not in text
    assert re.search(r"\.sb-c0\{color: ?#0072b2\}", picture_styles().replace(";", ""))


def test_what_is_not_there_is_said_and_nothing_is_computed(pages_served: tuple[str, Filled]) -> None:
    url, filled = pages_served
    good, zero = filled.entries["good"].id, filled.entries["zero-shot"].id
    for of, name in (
        ("/about", ""), ("/?board=none", ""), ("/entry?id=0123456789abcdef", ""), (f"/entry?id={good}", "none"),
        (f"/compare?id={zero}&id={good}&task=nli", ""), ("//evil.example/entry?id=" + good, ""), ("", ""),
    ):  # fmt: skip
        answer = httpx.get(f"{url}/picture.png", params={"of": of, "name": name})
        assert answer.status_code == 404 or of.startswith("//"), of


def test_other_pages_may_show_the_picture_in_a_frame_and_no_other_page(pages_served: tuple[str, Filled]) -> None:
    url, filled = pages_served
    good = filled.entries["good"]
    answer = httpx.get(f"{url}/embed", params={"of": entry_address(good.id, "nli")})
    assert "frame-ancestors *" in answer.headers["content-security-policy"]
    assert "frame-ancestors *" not in httpx.get(f"{url}/entry?id={good.id}").headers["content-security-policy"]
    scores = filled.store.scores(good, filled.folder).tasks[0]
    assert f"Loses {points(scores.summary.average_drop.value)} points" in answer.text
    assert f'href="{url}{entry_address(good.id, "nli")}"'.replace("&", "&amp;") in answer.text
    assert 'class="sb-picture"' in answer.text
