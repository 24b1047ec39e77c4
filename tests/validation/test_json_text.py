"""A line of JSON: what is no text is refused, whichever reader meets it."""

import json

import pytest

from shiftbench.validation.json_text import json_line


@pytest.mark.parametrize("content", [{"text": "\U0001f600"}, ["\\ud800"], "ü", None, 3])
def test_what_is_json_is_read(content: object) -> None:
    assert json_line(json.dumps(content).encode()) == content
    assert json_line(json.dumps(content, ensure_ascii=False).encode()) == content


@pytest.mark.parametrize(
    "line", [b'{"text": "\\ud800"}', b'{"\\udc00": 1}', b'["\\ude00\\ud83d"]', b'{"text": "\xff"}', b'{"cut o']
)
def test_half_a_surrogate_pair_other_encodings_and_cut_off_lines_are_refused(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - its kinds say the same thing in many words
        json_line(line)
