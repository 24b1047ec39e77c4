"""The site's pages of scores: the JSON fields that they list exist."""

import re
from pathlib import Path

from shiftbench.scoring.scores.shape import Scores, Shift, TaskScores

SITE = Path(__file__).parents[2] / "docs"


def test_fields_of_the_json_exist() -> None:
    page = (SITE / "reference/file-formats.md").read_text(encoding="utf-8")
    table = page.partition("## The JSON of scores\n")[2].partition("\n## ")[0]
    parts = {"": Scores, "tasks": TaskScores, "tasks.shifts": Shift}
    for cell in re.findall(r"^\| (.*?) \|", table, flags=re.M)[2:]:
        for place in re.findall(r"`([\w\[\].]+)`", cell):
            where, _, field = place.replace("[]", "").rpartition(".")
            assert field in parts[where].model_fields, place
    listed = re.search(r"`tasks\[\].shifts\[\]` \| (.*?) \|", table)
    assert listed is not None
    assert set(re.findall(r"`(\w+)`", listed[1])) <= set(Shift.model_fields)
