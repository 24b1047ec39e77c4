"""Content hashes are over rows as JSON, one list a line, in id order: as they always were."""

import hashlib
import json

import polars as pl

from shiftbench.builders.folder.hashes import rows_sha256


def test_rows_are_hashed_as_json_lines() -> None:
    awkward = "".join(map(chr, range(0x20))) + '\x7f"\\/\u2028é😀'
    frame = pl.DataFrame(
        {
            "id": [f"row{number:05d}" for number in range(20_001)][::-1],
            "text": [awkward, "plain", ""] * 6_667,
            "label": [2, 0, None] * 6_667,
            "tags": [[1, 2], [], [0]] * 6_667,
            "answers": [{"text": ["a", '"'], "answer_start": [3, 0]}, {"text": [], "answer_start": []}, None] * 6_667,
        }
    )
    for columns in (["text"], ["label"], ["tags"], ["answers"], ["text", "answers"]):
        lines = (
            json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"
            for row in frame.select("id", *columns).sort("id").iter_rows()
        )
        expected = hashlib.sha256("".join(lines).encode()).hexdigest()
        assert rows_sha256(frame, columns) == rows_sha256(frame.reverse(), columns) == expected
