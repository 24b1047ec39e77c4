"""Aspect terms in XML: how sentences are tagged, and what is refused where. Every sentence here is invented."""

from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.readers.aspect_terms import SCHEMA, aspect_terms, tokenise
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'


def term(start: int, end: int, text: str, polarity: str = "positive") -> str:
    return f'\t\t\t<aspectTerm from="{start}" polarity="{polarity}" term="{text}" to="{end}"/>\n'


def sentence(text: str, *terms: str) -> str:
    """Return a sentence as MAMS writes it, in five lines and one for each term."""
    aspects = f"\t\t<aspectTerms>\n{''.join(terms)}\t\t</aspectTerms>\n" if terms else ""
    return f"\t<sentence>\n\t\t<text>{text}</text>\n{aspects}\t</sentence>\n"


def release(*sentences: str) -> str:
    return f"{HEAD}<sentences>\n{''.join(sentences)}</sentences>\n"


SOUP = sentence("The soup.", term(4, 8, "soup"))


def read(path: Path, content: str) -> pl.DataFrame:
    path.write_text(content, encoding="utf-8", newline="")
    with UpstreamFile(path) as file:
        (frame,) = aspect_terms(file)
    return frame


def refusal(path: Path, content: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        read(path, content)
    return str(refused.value).removeprefix(f"{path.parent}/")


def test_each_word_has_a_tag(tmp_path: Path) -> None:
    text = "The bean soup's fine, not the tea; a top-up came."
    terms = term(4, 13, "bean soup"), term(30, 33, "tea", "negative"), term(37, 43, "top-up", "neutral")
    frame = read(tmp_path / "a.xml", release(sentence(text, *terms), sentence("We left.")))
    assert frame.schema == SCHEMA
    assert frame.rows() == [
        (
            [
                "The",
                "bean",
                "soup",
                "'",
                "s",
                "fine",
                ",",
                "not",
                "the",
                "tea",
                ";",
                "a",
                "top",
                "-",
                "up",
                "came",
                ".",
            ],
            ["O", "T-POS", "T-POS", *["O"] * 6, "T-NEG", "O", "O", "T-NEU", "T-NEU", "T-NEU", "O", "O"],
            text,
            None,
        ),
        (["We", "left", "."], ["O", "O", "O"], "We left.", None),
    ]


def test_offsets_count_characters_of_the_text_that_the_xml_stands_for(tmp_path: Path) -> None:
    text = " Fish &amp;  chips, 😀 crème brûlée &lt;3"
    terms = term(1, 14, "Fish &amp;  chips"), term(18, 30, "crème brûlée", "neutral")
    frame = read(tmp_path / "a.xml", "\ufeff" + release(sentence(text, *terms)))
    assert frame["text"].to_list() == [" Fish &  chips, 😀 crème brûlée <3"]
    assert frame["tags"].to_list() == [["T-POS"] * 3 + ["O", "O"] + ["T-NEU"] * 2 + ["O", "O"]]


def test_terms_may_stand_in_any_order_and_twice(tmp_path: Path) -> None:
    terms = term(8, 11, "tea", "negative"), term(0, 4, "Soup"), term(8, 11, "tea", "negative")
    frame = read(tmp_path / "a.xml", release(sentence("Soup or tea", *terms)))
    assert frame["tags"].to_list() == [["T-POS", "O", "T-NEG"]]


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        ((term(4, 13, "bean soup"), term(9, 13, "soup")), "terms overlap"),
        ((term(4, 13, "bean soup"), term(4, 13, "bean soup", "negative")), "terms overlap"),
        ((term(0, 13, "The bean soup"), term(4, 8, "bean"), term(14, 17, "was")), "terms overlap"),
        ((term(4, 10, "bean s"),), "a term does not align with words"),
        ((term(4, 10, "bean s"), term(10, 13, "oup")), "a term does not align with words"),
        ((term(3, 8, " bean"),), "a term does not align with words"),
        ((term(4, 8, "bean", "conflict"), term(5, 8, "ean")), "conflicting polarity"),
    ],
)
def test_a_sentence_that_cannot_be_tagged_stays_with_the_reason(
    terms: tuple[str, ...], reason: str, tmp_path: Path
) -> None:
    frame = read(tmp_path / "a.xml", release(SOUP, sentence("The bean soup was", *terms)))
    assert frame["refused"].to_list() == [None, reason]
    assert frame["tokens"].to_list()[1] == ["The", "bean", "soup", "was"]
    assert frame["tags"].to_list() == [["O", "T-POS", "O"], None]


def test_tokens_lose_nothing_but_white_space() -> None:
    text = "  Über_1.5€ isn't\u00a0so-so… e\u0301\u200b 😀\n"
    tokens = [text[start:end] for start, end in tokenise(text)]
    assert "".join(tokens) == "".join(text.split())
    assert tokens[:4] == ["Über_1", ".", "5", "€"]


def test_other_elements_and_comments_are_let_be(tmp_path: Path) -> None:
    extra = "<!-- a note --><aspectCategories><aspectCategory category='food'/></aspectCategories>"
    content = release(SOUP.replace("<text>The", f"{extra}<text>The"), "<!-- the end -->")
    assert read(tmp_path / "a.xml", content)["tags"].to_list() == [["O", "T-POS", "O"]]


def test_two_readers_are_the_same_key() -> None:
    assert repr(aspect_terms) == "AspectTerms()"


@pytest.mark.parametrize(
    ("text", "aspect"),
    [
        ("Good tea.", term(5, 5, "")),
        ("Good tea.", term(8, 5, "tea")),
        ("Good tea.", term(5, 7, "tea")),
        ("Good  tea.", term(0, 9, "Good tea")),
        ("Good\ntea.", term(0, 8, "Good\ntea")),  # XML reads the break in an attribute as a space
    ],
    ids=["empty", "backwards", "cut", "white-space", "line-break"],
)
def test_terms_are_compared_to_the_letter(text: str, aspect: str, tmp_path: Path) -> None:
    assert f"row {6 + text.count(chr(10))}: " in refusal(tmp_path / "a.xml", release(sentence(text, aspect)))


CHANGES = (
    ('"positive"', '"Positive"'),
    ('"positive"', '""'),
    ('from="4"', 'start="4"'),
    ('"4"', '"-5"'),
    ('"8"', '"8.0"'),
    ("<aspectTerm ", "<opinion "),
    ("<text>The soup.</text>", ""),
    ("</text>", "</text><text/>"),
    ("</aspectTerms>", "</aspectTerms><aspectTerms/>"),
    ("The soup.", " \n "),
    ("The soup.", ""),
    ("The soup.", "The <b>soup</b>."),
    ("sentences>", "Reviews>"),
    ("sentence>", "row>"),
    ("</sentence>", ""),
    ("soup.", "soup &"),
    ("soup.", "soup &stock;"),
)


def test_what_is_refused_is_named_by_line(tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {}
    for old, new in CHANGES:
        # The second sentence stays as it is, so that the file holds a term in any case.
        content = release(SOUP).replace(old, new).replace("</sentences>", f"{SOUP}</sentences>")
        said[f"{old} -> {new}"] = refusal(tmp_path / "a.xml", content)
        assert said[f"{old} -> {new}"].count("; ") >= 2  # what was found, and a cure
    said["another text"] = refusal(tmp_path / "a.xml", release(SOUP, sentence("Good tea.", term(4, 8, "tea"))))
    categories = release(SOUP).replace("aspectTerm", "aspectCategory")
    said["categories"] = refusal(tmp_path / "a.xml", categories)
    said["empty"] = refusal(tmp_path / "a.xml", "")
    assert said == wording


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE sentences [<!ENTITY soup "tea">]>',
        '<!DOCTYPE sentences [<!ENTITY soup SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE sentences SYSTEM "http://127.0.0.1:9/sentences.dtd">',
    ],
)
def test_entities_are_never_expanded(declaration: str, tmp_path: Path) -> None:
    content = release(SOUP).replace("<sentences>", f"{declaration}<sentences>").replace("soup.", "&soup;")
    assert refusal(tmp_path / "a.xml", content).startswith("a.xml: ")


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(release(sentence("Cr\u00e8me", term(0, 5, "Cr\u00e8me"))).encode("latin-1"))
    with (
        pytest.raises(InvalidInput, match=r"a\.xml, row 4: "),
        UpstreamFile(tmp_path / "a.xml") as file,
    ):
        next(aspect_terms(file))
