"""A real data set becomes a published benchmark by a spec alone: CrossNER, on a Hub of the loopback interface."""

import json
import tomllib
from pathlib import Path

import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from tests.hub.clients import finish, load, start, start_publish
from tests.hub.published import REPO
from tests.hub.server import running_hub

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("basic_uploads")]

DOMAINS = ("ai", "literature", "music", "politics", "science")
SPEC = """\
name = "fields"
title = "Entities in texts of five fields"

[sources.crossner]
title = "CrossNER"
url = "https://github.com/zliucr/CrossNER"
revision = "2e7ba2a7798c961e3f29fbc51252c5a8d40224bf"
licence = "MIT"
spdx = "MIT"
open_licence = true
harm = "none"
personal_data = "none"
cite = ["liu-etal-2021-crossner"]

[tasks.entities]
title = "Entities by field"
kind = "tags"
labels = [
    "academicjournal", "album", "algorithm", "astronomicalobject", "award", "band", "book", "chemicalcompound",
    "chemicalelement", "conference", "country", "discipline", "election", "enzyme", "event", "field", "literarygenre",
    "location", "magazine", "metrics", "misc", "musicalartist", "musicalinstrument", "musicgenre", "organisation",
    "person", "poem", "politicalparty", "politician", "product", "programlang", "protein", "researcher", "scientist",
    "song", "task", "theory", "university", "writer",
]
train = "crossner/ner_data/{domain}/train.txt"
validation = "crossner/ner_data/{domain}/dev.txt"
test = "crossner/ner_data/{domain}/test.txt"
domains = ["ai", "literature", "music", "politics", "science"]
notes = ["Most types are of one field alone; all fields know persons, organisations, locations and misc."]
"""
BIB = """\
@inproceedings{liu-etal-2021-crossner,
  title = {{C}ross{NER}: Evaluating Cross-Domain Named Entity Recognition},
  author = {Liu, Zihan and Xu, Yan and Yu, Tiezheng and Dai, Wenliang and Ji, Ziwei and Cahyawijaya, Samuel and
    Madotto, Andrea and Fung, Pascale},
  booktitle = {Proceedings of AAAI},
  year = {2021}
}
"""


def sentences(path: Path) -> int:
    """Count the sentences of a file of tokens, each once."""
    return len({block.strip() for block in path.read_text(encoding="utf-8").split("\n\n")} - {""})


def test_a_spec_becomes_a_published_benchmark(real_whole: Path, tmp_path: Path) -> None:
    lines = [line for line in SPEC.splitlines() if line.strip()]
    assert tuple(tomllib.loads(SPEC)["tasks"]["entities"]["domains"]) == DOMAINS
    assert len(lines) / len(DOMAINS) < 10
    (tmp_path / "fields.toml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "fields.bib").write_text(BIB, encoding="utf-8")
    command = ("-m", "shiftbench", "build", "own", "--spec", "fields.toml", "--raw", str(real_whole))
    with running_hub(tmp_path / "hub") as hub:
        for more in (("first", "--record"), ("fields",)):
            code, _, errors = finish(start(hub, tmp_path, *command, "--encoder", "none", "--out", *more))
            assert code == 0, errors
            assert ("match no record" in errors) == ("--record" in more)
        code, _, errors = finish(start_publish(hub, tmp_path, tmp_path / "fields", "--repo-id", REPO))
        assert code == 0, errors
        folder = DatasetFolder.open(tmp_path / "fields")
        for domain in DOMAINS:
            test = folder.split("entities", domain, "test")
            assert len(test) == sentences(real_whole / f"crossner/ner_data/{domain}/test.txt")
        loaded = load(hub, tmp_path, REPO, "entities.politics", "load")
        assert loaded["test"] == folder.split("entities", "politics", "test").to_dicts()
        card = hub.stored.files(REPO)["README.md"].decode()
        assert "liu-etal-2021-crossner" in card
    lock = json.loads((tmp_path / "fields.lock.json").read_text(encoding="utf-8"))
    assert len(lock["files"]) == 15
    # Our own records of the same release have the same checksums.
    ours = json.loads((Path(__file__).parents[1] / "builders/specs/upstream.json").read_text(encoding="utf-8"))["files"]
    both = lock["files"].keys() & ours.keys()
    assert len(both) >= 10
    assert {place: lock["files"][place]["sha256"] for place in both} == {place: ours[place]["sha256"] for place in both}
