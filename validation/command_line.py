"""What commands share: options, JSON output, refusals before any work. Light, so that ``--help`` answers at once."""

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from validation.output_files import check_file
from validation.report import InvalidInput, Problem

if TYPE_CHECKING:
    from rich.console import Console

    from validation.cards import Card

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
    """Refuse a place for JSON that cannot be written, before the work."""
    if where is not None and where != "-":
        check_file(Path(where), "--json")
    return where


def writable_file(path: Path | None, param: typer.CallbackParam) -> Path | None:
    """Refuse a file that cannot be written, before the work.

    Args:
        path: the file that an option names; None where it was not given.
        param: the option.
    Returns: the path.
    Raises: InvalidInput naming the option and the path.
    """
    if path is not None:
        check_file(path, param.opts[0])
    return path


JsonOption = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write JSON to FILE; '-' is standard output.", callback=writable),
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
PredictionsArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="Prediction file: parquet, JSON lines or CSV, by content.")
]
PortOption = Annotated[
    int, typer.Option("--port", metavar="N", help="Port to listen on; 0 takes any free one.", min=0, max=65535)
]


def sound_card(predictions: Path) -> "Card | None":
    """Return the card beside a prediction file; one that is not sound is left out, with a warning that says why."""
    from validation.cards import card_beside

    card, problems = card_beside(predictions)
    for problem in problems:
        typer.echo(f"warning: the card beside the file is left out: {problem}", err=True)
    return card


def require(module: str, extra: str) -> None:
    """Refuse to go on without a package that only an extra brings.

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
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    if where == "-":
        typer.echo(text)
    else:
        Path(where).write_text(text + "\n", encoding="utf-8")


def console(*, stderr: bool = False) -> "Console":
    """Open standard output or standard error for tables.

    Args:
        stderr: open standard error.
    Returns: a console; a pipe has no width of its own and gets 120 columns.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else 120)
