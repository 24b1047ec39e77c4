"""Shared parts of commands: options, JSON output, early checks. Imports are light, so that ``--help`` is fast."""

import inspect
import json
import warnings
from collections.abc import Callable
from dataclasses import MISSING, Field, field, fields, is_dataclass
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

OWN_FILE, MODEL, LIMITS, OUTPUT = "Your own file", "Model", "Limits", "Output"
"""Sections of options in ``--help``."""
DataOption = Annotated[
    Path, typer.Option("--data", metavar="DIR", help="Dataset folder that 'shiftbench build' wrote.")
]


def as_fraction(points: float | None) -> float | None:
    """Convert points to a fraction without floating-point error; None stays None.

    >>> as_fraction(2.2), as_fraction(None)
    (0.022, None)
    """
    return None if points is None else float(Decimal(str(points)) / 100)


def writable(where: str | None) -> str | None:
    """Check, before any work, that JSON can be written to a path; callback of ``--json``.

    Args:
        where: a path, or '-' for standard output; None if the option was not given.
    Returns: the path, unchanged.
    Raises: InvalidInput if the file cannot be written.
    """
    if where is not None and where != "-":
        check_file(Path(where), "--json")
    return where


def writable_file(path: Path | None, param: typer.CallbackParam) -> Path | None:
    """Check, before any work, that a file can be written; callback of options for output files.

    Args:
        path: the value of the option; None if it was not given.
        param: the option.
    Returns: the path, unchanged.
    Raises: InvalidInput naming the option and the path.
    """
    if path is not None:
        check_file(path, param.opts[0])
    return path


def writable_picture(path: Path | None, param: typer.CallbackParam) -> Path | None:
    """Check that a picture can be written: ``writable_file``, and the extra 'pictures' is installed.

    Args:
        path: the value of the option; None if it was not given.
        param: the option.
    Returns: the path, unchanged.
    Raises: InvalidInput if the extra is missing or the file cannot be written.
    """
    if path is not None:
        require("matplotlib", "pictures")
    return writable_file(path, param)


JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write JSON to FILE, scores as fractions; '-' is standard output.",
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
    typer.Option(
        "--labels-by-index", help="Predictions are label indices: positions, from 0, in the task's list of labels."
    ),
]
MarginOption = Annotated[
    float | None,
    typer.Option(
        "--margin", metavar="POINTS", help="Margin for equivalence tests; choose it before seeing the results."
    ),
]


ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="ROLE=COLUMN,...",
        help="Columns of a file by role: domain (or week, month, quarter, year for a column of dates), text, id, "
        "split, group, and label (or labels, tags, answers, texts, to set the kind of task). Default: columns with "
        "these "
        "names.",
        rich_help_panel=OWN_FILE,
    ),
]
MinTextsOption = Annotated[
    int | None,
    typer.Option(
        "--min-texts",
        metavar="N",
        help="For a file: exclude domains with fewer test texts from means. Default: 30.",
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
        help="Map a label of the model to its name in the data, or give a file with a pair per line; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
PortOption = Annotated[
    int, typer.Option("--port", metavar="N", help="Port to listen on; 0 chooses a free port.", min=0, max=65535)
]


def read_valid_card(predictions: Path) -> "Card | None":
    """Read the card next to a prediction file.

    Args:
        predictions: the prediction file; the card is ``<name>.card.yaml`` in its folder.
    Returns: the card; None if it is missing, or invalid, which causes a ``CardWarning``.
    """
    from shiftbench.validation.cards import card_beside

    card, problems = card_beside(predictions)
    for problem in problems:
        warnings.warn(f"the card next to the file is ignored: {problem}", CardWarning, stacklevel=3)
    return card


def require(module: str, extra: str) -> None:
    """Raise InvalidInput if a package of an extra is not installed.

    Args:
        module: import name of the package.
        extra: the extra of shiftbench that includes it.
    Raises: InvalidInput with the command that installs the extra.
    """
    from importlib.util import find_spec

    if find_spec(module) is None:
        cure = f"pip install 'shiftbench[{extra}]'"
        raise InvalidInput(Problem("a required package is not installed", module, cure=cure))


def write_json(content: Any, where: str | None) -> None:
    """Write JSON to a file or to standard output.

    Args:
        content: JSON-serialisable data without NaN.
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
    """Print lines and tables in human-readable form.

    Args:
        parts: lines, which are printed without wrapping or markup, and tables or styled texts of rich.
        stderr: print on standard error.
    """
    from shiftbench.validation.plain_console import open_console, print_parts

    print_parts(parts, open_console(stderr=stderr))


def print_results(parts: "Iterable[str | RenderableType]", content: Any, where: str | None) -> None:
    """Print a command's results and write its JSON; with JSON on standard output nothing else is printed there.

    Args:
        parts: as for ``show``.
        content: as for ``write_json``.
        where: the value of ``--json``.
    """
    if where != "-":
        show(parts)
    write_json(content, where)


def write_report(path: Path | None, text: Callable[[], str]) -> None:
    """Write a report if requested, and print its path on standard error.

    Args:
        path: the file; None writes nothing.
        text: function that builds the report; called only if a path is given.
    """
    if path is not None:
        path.write_text(text(), encoding="utf-8")
        typer.echo(f"{path}: the report", err=True)


def option(default: Any, about: str, name: str | None = None, **more: Any) -> Any:
    """Declare a field of a dataclass of options, for ``with_options``.

    Args:
        default: the default; ``MISSING`` if there is none.
        about: its line in ``--help``.
        name: the option, such as ``--out``. Default: the field's name with dashes.
        **more: further arguments of ``typer.Option``.
    """
    return field(default=default, metadata={"name": name, "help": about, **more})


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Expand the dataclass parameters of a command into options, one per field.

    typer sees the fields as parameters of the command; the command itself receives the dataclass.

    Args:
        command: a typer command; parameters annotated with a dataclass are expanded.
    Returns: a function with the same docstring, whose signature has one parameter per option.
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
            typed = {each.name: given.pop(each.name) for each in fields(options) if each.name in given}
            given[name] = options(**typed)
        command(**given)

    run.__doc__, run.__name__, run.__module__ = command.__doc__, command.__name__, command.__module__
    # typer reads the signature and the annotations, not the parameters of ``run``.
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return run


def _fields_as(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return the fields of a parameter's dataclass as parameters of the same kind."""
    return [
        inspect.Parameter(
            each.name,
            parameter.kind,
            annotation=_annotation(each),
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
        )
        for each in fields(parameter.annotation)
    ]


def _annotation(each: "Field[Any]") -> Any:
    """Return the type of a field, with its option if it was declared by ``option``."""
    if "help" not in each.metadata:
        return each.type
    more = {key: value for key, value in each.metadata.items() if key != "name"}
    return Annotated[each.type, typer.Option(each.metadata["name"] or f"--{each.name.replace('_', '-')}", **more)]
