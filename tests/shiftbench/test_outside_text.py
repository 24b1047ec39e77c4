"""Text from outside: no control or bidi character of any reader reaches a console, a page, a table or JSON."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from shiftbench.builders.building.own import build_own
from shiftbench.builders.folder.manifest import MANIFEST, Manifest
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli import command
from shiftbench.leaderboard.pages.shell import render
from shiftbench.scoring.interchange.reader import read_log
from shiftbench.scoring.reports.frame.html import tag
from shiftbench.scoring.reports.plain_tables import latex_text, markdown_text
from shiftbench.validation.command_line import write_json
from shiftbench.validation.csv_export import guarded_csv
from shiftbench.validation.outside import check_text
from shiftbench.validation.plain_console import PlainConsole
from shiftbench.validation.plain_streams import plain_streams
from shiftbench.validation.plain_text import escape_in_json, escape_invisible, refuse_invisible
from shiftbench.validation.report import InvalidInput, Problem
from tests.scoring.interchange.logs import (
    DATE,
    helm_state,
    helm_stats,
    inspect_header,
    inspect_sample,
    lm_eval_choice,
    write_eval,
    write_helm,
    write_lm_eval,
)

HOSTILE = ("\x1b[2J", "\x07", "\x9b31m", "\u202e", "\u2066", "\u200f", "\u2028", "\x7f", "\u200b", "\U000e0041")
anything = st.text(st.one_of(st.characters(), st.sampled_from("".join(HOSTILE))), max_size=12)


def assert_shown(text: str) -> None:
    """Check that every character shows, but line ends and tabs."""
    refuse_invisible(text.replace("\r\n", "\n"), allowed="\n\t")


WRITERS: dict[str, Callable[[str], str]] = {
    "HTML": lambda text: tag("p", text, title=text),
    "template": lambda text: render("not_found.html", reasons=[text]),
    "CSV": lambda text: guarded_csv([text], [[text]]),
    "LaTeX": latex_text,
    "Markdown": markdown_text,
    "a problem": lambda text: str(Problem(text, text, text, text, column=text, key=text)),
    "JSON": lambda text: escape_in_json(json.dumps({text: [text]}, ensure_ascii=False)),
}


@given(anything)
def test_whatever_is_written_shows(text: str) -> None:
    for name, write in WRITERS.items():
        try:
            assert_shown(write(text))
        except Exception as error:
            raise AssertionError(f"{name}: {error}") from error
    assert json.loads(WRITERS["JSON"](text)) == {text: [text]}, "JSON means what it meant"


@given(anything, st.booleans())
def test_whatever_reaches_a_stream_shows(text: str, is_terminal: bool) -> None:
    out, err = _Stream(), _Stream()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    out.terminal = err.terminal = is_terminal
    try:
        with plain_streams():
            typer.echo(f"name {text}")
            typer.echo(f"name {text}", err=True)
            print(f"name {text}", "end", file=sys.stderr)
            write_json({text: text}, "-")
    finally:
        sys.stdout, sys.stderr = before
    for stream in (out, err):
        assert_shown(stream.getvalue())


@given(anything)
def test_whatever_a_table_shows_shows(text: str) -> None:
    out = io.StringIO()
    console = PlainConsole(file=out, width=60)
    table = Table("a", "b", title=None)
    table.add_row(escape_markup(text), "x")
    console.print(table)
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    assert_shown(out.getvalue())


def escape_markup(text: str) -> Any:
    from rich.text import Text

    return Text(text)


class _Stream(io.StringIO):
    terminal = False

    def isatty(self) -> bool:
        return self.terminal


def test_bars_of_progress_reach_a_terminal_as_they_are() -> None:
    stream = _Stream()
    stream.terminal = True
    before, sys.stderr = sys.stderr, stream
    try:
        with plain_streams():
            for text in ("\r 50%", "\n", "\x1b[A", "\r      \r"):
                sys.stderr.write(text)
    finally:
        sys.stderr = before
    assert stream.getvalue() == "\r 50%\n\x1b[A\r      \r"


def test_the_command_escapes_what_it_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

    @app.command()
    def show() -> None:
        typer.echo("out\x07\u202e")
        typer.echo("err\x9b", err=True)

    monkeypatch.setattr(command, "app", app)
    monkeypatch.setattr(sys, "argv", ["shiftbench"])
    with pytest.raises(SystemExit):
        command.main()
    captured = capsys.readouterr()
    assert captured.out == "out\\x07\\u202e\n"
    assert captured.err == "err\\x9b\n"


@pytest.mark.parametrize("odd", HOSTILE)
def test_names_of_logs_are_refused(odd: str, tmp_path: Path) -> None:
    name = f"a{odd}b"
    choice = lm_eval_choice(0, {"x": -1.0, "y": -2.0})
    results = {"lm_eval_version": "0.4.9", "model_name": name}
    by_metric = write_lm_eval(tmp_path / "metric", [{**choice, "metrics": [name], name: 1.0}])
    by_model = write_lm_eval(tmp_path / "model", [choice])
    by_model.with_name(f"results_{DATE}.json").write_text(json.dumps(results))
    about = inspect_header()["eval"] | {"model": name}
    by_header = write_eval(tmp_path / "log.eval", [inspect_sample(0)], eval=about)
    by_adapter = write_helm(tmp_path / "helm", [helm_state(0)], [helm_stats(0, exact_match=1.0)], model=name)
    for path in (by_metric, by_model, by_header, by_adapter):
        with pytest.raises(InvalidInput, match=r"invisible|invalid") as refused:
            read_log(path)
        assert_shown(str(refused.value))


@pytest.mark.parametrize("odd", HOSTILE)
def test_labels_and_domains_of_own_data_are_refused(odd: str, tmp_path: Path) -> None:
    rows = [f"text {n},{'no' if n % 2 else 'yes'},{'east' if n % 3 else 'west'}" for n in range(12)]
    for place, column in ((1, "label"), (2, "domain")):
        cells = rows[4].split(",")
        cells[place] += odd + "x"
        changed = [*rows[:4], ",".join(cells), *rows[5:]]
        path = tmp_path / f"{column}.csv"
        path.write_text("text,label,domain\n" + "\n".join(changed) + "\n", encoding="utf-8")
        with pytest.raises(InvalidInput, match=f"'{column}', row 5: "):
            build_own("own", path, tmp_path / "out")


@pytest.mark.parametrize(
    ("key", "value"),
    [("title", "a\u202eb"), ("benchmark", "\x1b[2J"), ("seed", -1), ("seed", 2**64), ("builder_version", "\x9b")],
)
def test_a_manifest_with_an_odd_value_is_refused(
    synthetic: DatasetFolder, tmp_path: Path, key: str, value: object
) -> None:
    content = json.loads((synthetic.path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps(content | {key: value}))
    with pytest.raises(InvalidInput, match=MANIFEST):
        Manifest.read(tmp_path)


def test_every_count_and_text_of_files_from_outside_is_bounded() -> None:
    """Each number and text in the schemas of manifests and claims has an end, whoever adds a field."""
    from shiftbench.scoring.comparing.claims import Claim

    for kind in (Manifest, Claim):
        for where, schema in _leaves(kind.model_json_schema(), kind.__name__):
            if "const" in schema or "enum" in schema:
                continue
            if schema["type"] == "integer":
                assert "maximum" in schema or "exclusiveMaximum" in schema, where
                assert "minimum" in schema, where
            if schema["type"] == "string":
                assert "maxLength" in schema or "pattern" in schema, where


def _leaves(schema: Any, where: str) -> list[tuple[str, Any]]:
    if isinstance(schema, list):
        return [leaf for each in schema for leaf in _leaves(each, where)]
    if not isinstance(schema, dict):
        return []
    own = [(where, schema)] if schema.get("type") in ("integer", "string") else []
    return own + [leaf for key, each in schema.items() for leaf in _leaves(each, f"{where}.{key}")]


def test_joiners_that_are_spelling_stay() -> None:
    for word in ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0915\u094d\u200d\u0937"):
        assert check_text(word, "file") == escape_invisible(word) == word
    with pytest.raises(InvalidInput, match="NON-JOINER"):
        check_text("a\u200cb", "file")
