"""``shiftbench demo check``: which files it writes, and that what it runs can be typed."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli import demo
from shiftbench.cli.command import app
from shiftbench.cli.demo_rows import N_TEST, write_rows


def test_rows_become_a_csv_of_all_domains_and_one_of_training_texts(synthetic: DatasetFolder, tmp_path: Path) -> None:
    files = write_rows(synthetic, tmp_path / "check")
    info = synthetic.task(files.task)
    test, train = (pl.read_csv(path, infer_schema=False) for path in (files.test, files.train))
    assert test.columns == train.columns == ["domain", "group", *info.inputs, "label"]
    assert set(test["domain"]) == set(info.domains)
    assert test.group_by("domain").len()["len"].max() <= N_TEST
    assert train["domain"].unique().to_list() == [files.source]
    assert len(train) == info.domains[files.source].splits["train"].rows
    assert set(test["label"]) <= set(info.labels)


def test_what_it_runs_can_be_typed(
    synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed: list[list[str]] = []

    def build(data: Path, *_: Any, **__: Any) -> bool:
        data.symlink_to(synthetic.path)
        return True

    monkeypatch.setattr(demo, "_build_real", build)
    demo._demo_check(typed.append, [], tmp_path)
    assert [words[0] for words in typed] == ["train", "check"]
    for words in typed:
        command: Any = typer.main.get_command(app)
        rest = words
        while hasattr(command, "list_commands"):
            name, *rest = rest
            command = command.get_command(typer.Context(command), name)
        command.make_context(name, list(rest))
    model, options = typed[1][1], typed[1][2:]
    assert model == f"{typed[0][typed[0].index('--save-model') + 1]}/{options[options.index('--trained-on') + 1]}-0"
    assert "--probes" in options
    assert capsys.readouterr().err
