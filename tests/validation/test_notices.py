"""Notes and warnings: silent where nobody asked, lines on standard error in commands, and a caller's to filter."""

import logging
import subprocess
import sys
import warnings
from typing import Annotated

import pytest
import typer

from shiftbench.cli.command import run_app
from shiftbench.validation.notices import (
    CardWarning,
    DataWarning,
    FormerName,
    ModelWarning,
    ShiftbenchWarning,
    notes_on_stderr,
)

log = logging.getLogger("shiftbench.tests.notices")
CATEGORIES = (DataWarning, ModelWarning, CardWarning, FormerName)


def test_notes_are_silent_where_nobody_asked(capfd: pytest.CaptureFixture[str]) -> None:
    log.info("read 3 rows")
    assert capfd.readouterr() == ("", "")


def test_commands_hear_notes_and_warnings_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = typer.Typer()

    @program.command()
    def work(rows: Annotated[int, typer.Option("--rows")] = 1) -> None:
        log.info("read %d rows", rows)
        warnings.warn("one row was left out", DataWarning, stacklevel=2)
        print("3")

    monkeypatch.setattr(sys, "argv", ["work", "--rows", "3"])
    with pytest.raises(SystemExit) as end:
        run_app(program)
    assert end.value.code == 0
    assert capsys.readouterr() == ("3\n", "read 3 rows\nwarning: one row was left out\n")


def test_a_level_silences_notes(capsys: pytest.CaptureFixture[str]) -> None:
    with notes_on_stderr():
        logging.getLogger("shiftbench").setLevel(logging.WARNING)
        log.info("not heard")
        log.warning("heard")
        log.setLevel(logging.ERROR)
        log.warning("not heard of this module")
        logging.getLogger("shiftbench.tests").warning("heard of others")
        log.setLevel(logging.NOTSET)
    assert capsys.readouterr().err == "warning: heard\nwarning: heard of others\n"


@pytest.mark.parametrize("category", CATEGORIES)
def test_each_category_can_be_left_out_by_itself(
    category: type[ShiftbenchWarning], capsys: pytest.CaptureFixture[str]
) -> None:
    with notes_on_stderr():
        warnings.simplefilter("ignore", category)
        for each in CATEGORIES:
            warnings.warn(each.__name__, each, stacklevel=1)
    heard = [each.__name__ for each in CATEGORIES if each is not category]
    assert capsys.readouterr().err == "".join(f"warning: {name}\n" for name in heard)


def test_a_warning_can_be_made_an_error() -> None:
    with notes_on_stderr():
        warnings.simplefilter("error", DataWarning)
        with pytest.raises(DataWarning, match="left out"):
            warnings.warn("rows were left out", DataWarning, stacklevel=1)


def test_commands_say_the_same_thing_as_often_as_it_happens(capsys: pytest.CaptureFixture[str]) -> None:
    with notes_on_stderr():
        for _ in range(2):
            warnings.warn("rows were left out", DataWarning, stacklevel=1)
    assert capsys.readouterr().err == 2 * "warning: rows were left out\n"


def test_warnings_of_others_go_their_own_way(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(UserWarning, match="of another package") as caught, notes_on_stderr():
        warnings.warn("of another package", UserWarning, stacklevel=1)
    assert [each.category for each in caught] == [UserWarning]
    assert capsys.readouterr().err == ""


def test_all_is_as_before_after_a_command_that_failed(capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("shiftbench")
    before = (logger.level, list(logger.handlers), warnings.showwarning, list(warnings.filters))
    with pytest.raises(KeyError), notes_on_stderr():
        raise KeyError
    assert (logger.level, list(logger.handlers), warnings.showwarning, list(warnings.filters)) == before
    log.info("not heard")
    assert capsys.readouterr().err == ""


def test_a_former_name_is_shown_without_asking() -> None:
    code = """
import types, warnings
from shiftbench.validation.notices import FormerName
caller = types.ModuleType("caller")
caller.FormerName, caller.warnings = FormerName, warnings
exec("def former(): warnings.warn('old ends with 0.4: new', FormerName)", vars(caller))
caller.former()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "FormerName: old ends with 0.4: new" in done.stderr
    assert issubclass(FormerName, FutureWarning), "Python hides deprecations from users; it shows these"
