"""What commands share: options, JSON output, refusals before any work. Light, so that ``--help`` answers at once."""

import inspect
import json
import warnings
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.validation.notices import CardWarning
from shiftbench.validation.output_files import check_file
from shiftbench.validation.plain_text import escape_in_json
from shiftbench.validation.report import InvalidInput, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from shiftbench.validation.cards import Card

OWN_FILE, MODEL, LIMITS, OUTPUT = "A file of your own", "Model", "Limits", "Output"
"""Sections of options in ``--help``: of a file of one's own, of the model."""
DataOption = Annotated[
    Path, typer.Option("--data", metavar="DIR", help="Dataset folder that 'shiftbench build' wrote.")
]


def as_fraction(points: float | None) -> float | None:
    """Return points as a fraction, without what dividing by 100 would round; None stays None.

    >>> as_fraction(2.2), as_fraction(None)
    (0.022, None)
    """
    return None if points is None else float(Decimal(str(points)) / 100)


def writable(where: str | None) -> str | None:
    """Raise a usage error where JSON cannot be written to a place, before the work."""
    if where is not None and where != "-":
        check_file(Path(where), "--json")
    return where


def writable_file(path: Path | None, param: typer.CallbackParam) -> Path | None:
    """Raise a usage error where a file cannot be written, before the work.

    Args:
        path: the file that an option names; None where it was not given.
        param: the option.
    Returns: the path.
    Raises: InvalidInput naming the option and the path.
    """
    if path is not None:
        check_file(path, param.opts[0])
    return path


def writable_picture(path: Path | None, param: typer.CallbackParam) -> Path | None:
    """Raise as ``writable_file`` does, and where the extra 'pictures' is not installed."""
    if path is not None:
        require("matplotlib", "pictures")
    return writable_file(path, param)


JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write JSON, with fractions, to FILE; '-' is standard output.",
        callback=writable,
        rich_help_panel=OUTPUT,
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Write a report as one HTML file.",
        callback=writable_file,
        rich_help_panel=OUTPUT,
    ),
]
SubsetOption = Annotated[
    str, typer.Option("--subset", metavar="NAME", help="Subset of test ids that the predictions cover.")
]
LabelsByIndexOption = Annotated[
    bool,
    typer.Option("--labels-by-index", help="Numbers stand for labels: their place, from 0, in the task's list."),
]
MarginOption = Annotated[
    float | None,
    typer.Option("--margin", metavar="POINTS", help="Test whether differences stay below it; fix it beforehand."),
]


ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="ROLE=COLUMN,...",
        help="Columns of a file: domain (or, of dates, week, month, quarter, year), text, id, split, group, and label "
        "(or labels, tags, answers, texts, which say what is predicted). Default: columns of these names.",
        rich_help_panel=OWN_FILE,
    ),
]
MinTextsOption = Annotated[
    int | None,
    typer.Option(
        "--min-texts",
        metavar="N",
        help="For a file: leave domains with fewer test texts out of means. Default: 30.",
        min=0,
        rich_help_panel=OWN_FILE,
    ),
]


class TableFormat(StrEnum):
    """Formats of a table of models."""

    TABLE = "table"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"


PredictionsArgument = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Prediction file (id, source, prediction): parquet, JSON lines, CSV."),
]
PredictionOut = Annotated[
    Path, typer.Option("--out", metavar="FILE", help="Prediction file to write: .parquet, .jsonl or .csv.")
]
LabelMap = Annotated[
    list[str] | None,
    typer.Option(
        "--label-map",
        metavar="MODEL'S=DATA'S",
        help="A label of the model and its name in the data, or a file of such lines; repeat for more.",
        rich_help_panel=MODEL,
    ),
]
PortOption = Annotated[
    int, typer.Option("--port", metavar="N", help="Port to listen on; 0 takes any free one.", min=0, max=65535)
]


def sound_card(predictions: Path) -> "Card | None":
    """Return the card beside a prediction file; an invalid one is left out, with a warning that says why."""
    from shiftbench.validation.cards import card_beside

    card, problems = card_beside(predictions)
    for problem in problems:
        warnings.warn(f"the card beside the file is left out: {problem}", CardWarning, stacklevel=3)
    return card


def require(module: str, extra: str) -> None:
    """Raise InvalidInput where a package of an extra is not installed.

    Args:
        module: the package, as it is imported.
        extra: the extra of shiftbench that brings it.
    Raises: InvalidInput with the command that installs the extra.
    """
    from importlib.util import find_spec

    if find_spec(module) is None:
        cure = f"pip install 'shiftbench[{extra}]'"
        raise InvalidInput(Problem("this needs a package that is not installed", module, cure=cure))


def write_json(content: Any, where: str | None) -> None:
    """Write JSON to a file or to standard output.

    Args:
        content: what JSON can hold; NaN is refused.
        where: a path, or '-' for standard output; None writes nothing.
    """
    if where is None:
        return
    text = escape_in_json(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
    if where == "-":
        typer.echo(text)
    else:
        Path(where).write_text(text + "\n", encoding="utf-8")


def show(parts: "Iterable[str | RenderableType]", *, stderr: bool = False) -> None:
    """Print lines and tables, for people.

    Args:
        parts: lines, which are not wrapped and hold no markup, and tables or styled texts of rich.
        stderr: print on standard error.
    """
    from shiftbench.validation.plain_console import open_console, print_parts

    print_parts(parts, open_console(stderr=stderr))


def answer(parts: "Iterable[str | RenderableType]", content: Any, where: str | None) -> None:
    """Print what a command found, and write its JSON; with JSON on standard output nothing else is printed there.

    Args:
        parts: as ``show`` takes them.
        content: as ``write_json`` takes it.
        where: what was given as ``--json``.
    """
    if where != "-":
        show(parts)
    write_json(content, where)


def write_report(path: Path | None, text: Callable[[], str]) -> None:
    """Write a report where one was asked for, and print its path on standard error.

    Args:
        path: the file; None writes nothing.
        text: builds the report, which takes time that a command without ``--report`` need not spend.
    """
    if path is not None:
        path.write_text(text(), encoding="utf-8")
        typer.echo(f"{path}: the report", err=True)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Build a command that has the fields of the dataclasses among its parameters as options of its own.

    Each such parameter is replaced by the fields, which typer then reads as if they stood there; the command itself
    gets the dataclass.
    """
    own = inspect.signature(command).parameters.values()
    classes: dict[str, Any] = {
        parameter.name: parameter.annotation for parameter in own if is_dataclass(parameter.annotation)
    }
    signature = inspect.Signature(
        [each for parameter in own for each in (_fields_as(parameter) if parameter.name in classes else [parameter])]
    )

    def run(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs).arguments
        for name, options in classes.items():
            typed = {field.name: given.pop(field.name) for field in fields(options) if field.name in given}
            given[name] = options(**typed)
        command(**given)

    run.__doc__, run.__name__, run.__module__ = command.__doc__, command.__name__, command.__module__
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return run


def _fields_as(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """List the fields of a parameter's dataclass as parameters of the same kind."""
    return [
        inspect.Parameter(
            field.name,
            parameter.kind,
            annotation=field.type,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(parameter.annotation)
    ]
