"""What an install weighs: who requires what, what would go without it, and what an extra adds."""

import re
import tomllib
from pathlib import Path

from benchmarks.install import CLONE, Weight, weigh

NEEDS = {
    "shiftbench": ["big.thing", "Small", "drawing; extra == 'pictures'", "tests; extra == 'dev'"],
    "Big-Thing": ["ground>=1", "only-for_big", "colours; extra == 'colour'", "ground[fast]"],
    "small": ["ground"],
    "ground": ["quick; extra == 'fast'", "old; python_version < '3'", "big-thing"],
    "only-for-big": [],
    "quick": [],
    "drawing": ["ground", "Big.Thing[colour]"],
    "colours": [],
    "pip": [],
}
"""Requirements by distribution: names spelled in several ways, a circle, an extra of an extra."""


def make_site(place: Path) -> Path:
    for number, (name, needs) in enumerate(NEEDS.items(), start=1):
        info = place / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        lines = "".join(f"Requires-Dist: {need}\n" for need in needs)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{lines}")
        (place / f"{name}.py").write_bytes(b"#" * 4096 * number)
        (info / "RECORD").write_text(f"{name}.py,,\n{name}.pyc,,\n")
    return place


def weights_of(place: Path, *extras: str) -> dict[str, Weight]:
    return {each.name: each for each in weigh(make_site(place), extras)}


def size(name: str) -> int:
    return 4096 * (list(NEEDS).index(name) + 1)


def test_what_nothing_of_ours_requires_is_left_out(tmp_path: Path) -> None:
    weights = weights_of(tmp_path)
    assert set(weights) == {"shiftbench", "big-thing", "small", "ground", "only-for-big", "quick"}
    assert {name: each.size for name, each in weights.items() if name != "big-thing"} == {
        name: size(name) for name in weights if name != "big-thing"
    }
    assert list(weights) == sorted(weights, key=lambda name: -weights[name].size)
    assert weights["ground"].needed_by == ("big-thing", "small")


def test_what_would_go_with_a_requirement(tmp_path: Path) -> None:
    weights = weights_of(tmp_path)
    assert weights["big-thing"].freed == 0  # 'small' leads to it, by way of the ground
    assert weights["small"].freed == size("small")
    assert weights["only-for-big"].freed is None


def test_what_an_extra_adds(tmp_path: Path) -> None:
    weights = weights_of(tmp_path, "pictures")
    assert {name for name, each in weights.items() if each.is_extra} == {"drawing", "colours"}
    assert weights["drawing"].freed == size("drawing") + size("colours")


def test_every_dependency_says_what_it_is_for() -> None:
    text = (CLONE / "pyproject.toml").read_text(encoding="utf-8")
    listed = text.partition("\ndependencies = [\n")[2].partition("\n]\n")[0].splitlines()
    assert len(listed) == len(tomllib.loads(text)["project"]["dependencies"])
    assert [line for line in listed if not re.fullmatch(r' {4}"[^"]+", # \S.+', line)] == []
