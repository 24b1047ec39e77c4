"""A program or method whose code has changed says whether its predictions have."""

from pathlib import Path

import pytest

from shiftbench.baselines.grid.trial import Trial, installed_versions
from shiftbench.baselines.robust.method import METHODS
from shiftbench.baselines.versions import code_hash, code_versions, own_file, version_table
from shiftbench.cli.train import PROGRAMS

ENTRIES = [(kind, name) for kind, entries in version_table().items() for name in entries]


def test_every_program_and_method_has_a_version() -> None:
    assert set(version_table()["programs"]) == set(PROGRAMS)
    assert set(version_table()["methods"]) == set(METHODS)


@pytest.mark.parametrize(("kind", "name"), ENTRIES, ids=str)
def test_changed_code_has_another_version_or_the_same_predictions(kind: str, name: str) -> None:
    found = code_hash(own_file(name, is_method=kind == "methods"))
    assert found == version_table()[kind][name]["code"], (
        f"the code that {name} runs has changed: where predictions change, raise its version in "
        "baselines/versions.toml; where runs before and after predict the same, leave it; then record the hash by "
        "'python -m shiftbench.baselines.versions'"
    )


def test_the_hash_follows_code_at_any_depth_and_no_docstring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiftbench.baselines.versions.ROOM", tmp_path)
    for folder in ("robust", "grid"):
        (tmp_path / folder).mkdir()
    own, inner, outside = tmp_path / "own.py", tmp_path / "robust/inner.py", tmp_path / "grid/outside.py"
    own.write_text('from shiftbench.baselines.robust import inner\n\n\ndef f():\n    """Say."""\n    return 1\n')
    inner.write_text("def g():\n    from shiftbench.baselines.grid import outside\n")
    outside.write_text("X = 1\n")
    first = code_hash(own)
    own.write_text(own.read_text().replace("Say.", "Return one.").replace("return 1", "return 1  # one"))
    outside.write_text("X = 2\n")
    assert code_hash(own) == first
    inner.write_text(inner.read_text() + "\n\nY = 1\n")
    assert code_hash(own) != first


def test_a_trial_is_keyed_by_its_programs_and_methods_versions() -> None:
    plain, robust = (
        Trial(
            "m",
            "finetune-classifier",
            options,
            "nli",
            "a+b",
            0,
            "0" * 64,
            installed_versions("finetune-classifier", options),
        )
        for options in ((), ("--method=group-dro", "--method=eda"))
    )
    assert "programs 1" in plain.versions
    assert "group-dro 2" in robust.versions
    assert plain.key != robust.key
    assert not any(each.startswith("eda") for each in robust.versions)  # of version 1, as before there were versions
    assert code_versions("my_program", ()) == ("programs 1",)
