"""Texts drawn for labelling: the file that people fill in, and beside it what was drawn and how likely that was."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from shiftbench.builders.building.own_tables import read_tables
from shiftbench.checking.label_rows import LabelRows, join_predictions, read_rows
from shiftbench.checking.opened_data import OwnFile
from shiftbench.metrics.label_sampling import (
    ENOUGH,
    UNIFORM_SHARE,
    confidence_correlation,
    draw_groups,
    draw_probabilities,
    enough_expected,
    expected_width,
)
from shiftbench.validation.csv_export import guarded_cell, guarded_csv
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import InvalidInput, Problem, and_more, did_you_mean, first_line

PROBABILITY = "draw_probability"
"""Column of the file to be labelled."""


class DomainDraw(BaseModel):
    """How the texts of one domain were drawn.

    Attributes:
        domain: its name, as the data writes it.
        n_texts: texts without a label that there were.
        budget: texts that were to be drawn; whole groups come near it.
        method: ``ppi++``, drawn by confidence, or ``wilson``, drawn with one probability.
        expected_width: width of the interval to be expected, as a multiple of a random sample's; 1 of ``wilson``.
        rho: correlation of confidence and being right, if confidences are calibrated, in [0, 1].
    """

    model_config = ConfigDict(extra="forbid")
    domain: str
    n_texts: int
    budget: int
    method: Literal["ppi++", "wilson"]
    expected_width: float
    rho: float


class Draw(BaseModel):
    """What was drawn.

    Attributes:
        seed: of the draw.
        group_column: column of the data whose equal values were drawn together; None where it was not named.
        domains: how each domain's texts were drawn.
        probabilities: of each drawn text, by its id.
    """

    model_config = ConfigDict(extra="forbid")
    seed: int
    group_column: str | None
    domains: list[DomainDraw]
    probabilities: dict[str, float]


def draw_texts(rows: pl.DataFrame, budget: int, seed: int, group_column: str | None = None) -> Draw:
    """Draw the texts to label; every domain gets the same share of the budget, or all of its texts.

    Args:
        rows: rows without a label: columns ``id``, ``domain``, ``group`` and ``confidence`` (calibrated).
        budget: texts to label, at least one a domain and at most all.
        seed: of the draw.
        group_column: what the data calls the column of groups, for the record.
    """
    rng = np.random.default_rng(seed)
    parts = rows.partition_by("domain", maintain_order=True)
    domains: list[DomainDraw] = []
    probabilities: dict[str, float] = {}
    for part, share in zip(parts, share_budget([len(part) for part in parts], budget), strict=True):
        confidence = part["confidence"].to_numpy()
        groups = group_codes(part["group"])
        tuned = enough_expected(confidence, share * (groups.max() + 1) / len(part))
        chance = draw_probabilities(confidence, groups, share, UNIFORM_SHARE if tuned else 1)
        drawn = draw_groups(chance, groups, rng)
        probabilities |= dict(zip(part["id"].to_numpy()[drawn].tolist(), chance[drawn].tolist(), strict=True))
        domains.append(
            DomainDraw(
                domain=part["domain"][0],
                n_texts=len(part),
                budget=share,
                method="ppi++" if tuned else "wilson",
                expected_width=expected_width(confidence, chance) if tuned else 1.0,
                rho=confidence_correlation(confidence),
            )
        )
    return Draw(seed=seed, group_column=group_column, domains=domains, probabilities=probabilities)


def share_budget(sizes: Sequence[int], budget: int) -> list[int]:
    """Split a budget evenly; what one domain has no texts for goes to the others.

    >>> share_budget([10, 100, 100], 111)
    [10, 50, 51]
    """
    shares, left = [0] * len(sizes), budget
    for place, each in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[each] = min(sizes[each], left // (len(sizes) - place))
        left -= shares[each]
    return shares


def group_codes(groups: pl.Series) -> NDArray[np.int64]:
    """Return a number for each row's group, from 0 without a gap, shape (n,)."""
    return (groups.rank("dense").to_numpy() - 1).astype(np.int64)


def draw_file(labelled: Path) -> Path:
    """Return where the record of a draw lies: beside the file to be labelled."""
    return labelled.with_name(f"{labelled.stem}.draw.json")


def draw_unlabelled(
    predictions: Path, data: Path, own: OwnFile, budget: int, domains: Sequence[str] = (), seed: int = 0
) -> tuple[Draw, LabelRows]:
    """Draw from the rows of a file that have no label.

    Args:
        predictions: of one model, with confidences.
        data: the file.
        own: how it is read.
        budget: texts to label, in all.
        domains: those to draw from; empty for all, evenly.
        seed: of the draw.
    Returns: what was drawn, and the rows.
    Raises: InvalidInput when every row has a label, the budget does not fit, or predictions do not fit the rows.
    """
    (table,) = read_tables([data])
    rows = read_rows(table, own.columns, own.kind)
    frame = _select_unlabelled(join_predictions(rows, predictions), domains, data)
    n_domains = frame["domain"].n_unique()
    if not n_domains <= budget <= len(frame):
        what = "the budget does not fit the texts"
        cure = f"give {n_domains:,} (one a domain) to {len(frame):,} (all texts without a label)"
        raise InvalidInput(Problem(what, "--budget", f"{budget:,}", cure))
    return draw_texts(frame, budget, seed, own.columns.group), rows


def _select_unlabelled(frame: pl.DataFrame, domains: Sequence[str], data: Path) -> pl.DataFrame:
    """Return the rows without a label, of some domains or of all; InvalidInput where there are none."""
    frame = frame.filter(pl.col("label").is_null())
    if frame.is_empty():
        cure = "give the file whose rows to be labelled have an empty label"
        raise InvalidInput(Problem("every row has a label", str(data), cure=cure))
    here = frame["domain"].unique(maintain_order=True).to_list()
    for name in domains:
        if name not in here:
            what = "no domain of this name has texts without a label"
            raise InvalidInput(Problem(what, "--domain", repr(name), did_you_mean(name, here)))
    return frame.filter(pl.col("domain").is_in(list(domains))) if domains else frame


def draw_lines(draw: Draw) -> Iterator[str]:
    """List how each domain's texts are drawn, and how narrow an interval to expect."""
    for each in draw.domains:
        start = f"{each.domain}: {each.budget:,} of {each.n_texts:,} texts"
        if each.method == "wilson":
            yield f"{start}, at random (Wilson's interval): fewer than {ENOUGH} errors or hits are to be expected"
            continue
        by_confidence = 100 * (1 - (1 - each.rho**2) ** 0.5)
        yield (
            f"{start}, by confidence (PPI++): expect an interval {100 * (1 - each.expected_width):.0f}% narrower than "
            f"from as many at random, if confidences are calibrated ({by_confidence:.0f}% from the correlation alone, "
            f"sqrt(1 - rho^2) with rho {each.rho:.2f})"
        )


def write_draw(draw: Draw, rows: LabelRows, out: Path) -> None:
    """Write the texts to be labelled, in the order of the data, and the record of the draw.

    What the model predicts is not in the file: whoever sees it labels more like it.

    Raises: InvalidInput when a column of the data has the name that the probabilities have.
    """
    table = drawn_table(draw, rows)
    with replace_file(draw_file(out)) as new:
        new.write_text(draw.model_dump_json(indent=1) + "\n", encoding="utf-8")
    with replace_file(out) as new:
        text = guarded_csv(table.columns, table.rows())
        new.write_text(text, encoding="utf-8", newline="")


def drawn_table(draw: Draw, rows: LabelRows) -> pl.DataFrame:
    """Build the table of the texts to be labelled, under the data's own names of columns, in the order of the data.

    Raises: InvalidInput when a column of the data has the name that the probabilities have.
    """
    names = {"domain": "domain"} | rows.names
    if PROBABILITY in names.values():
        what, cure = (
            "the data has a column of this name, which is needed for the probabilities",
            "rename it in the data",
        )
        raise InvalidInput(Problem(what, rows.file, cure=cure, column=PROBABILITY))
    drawn = rows.frame.filter(pl.col("id").is_in(list(draw.probabilities)))
    chance = drawn["id"].replace_strict(draw.probabilities, return_dtype=pl.Float64).round(6)
    columns = [pl.col(name).alias(names[name]) for name in ("id", "domain", *rows.inputs, "label")]
    return drawn.select(*columns, chance.alias(PROBABILITY))


def read_draw(labelled: Path) -> Draw:
    """Read the record beside a labelled file; InvalidInput where it is missing or damaged."""
    place = draw_file(labelled)
    if not place.is_file():
        what, cure = "the record of the draw is missing", "'shiftbench label' wrote it; put it beside the labelled file"
        raise InvalidInput(Problem(what, str(place), cure=cure))
    try:
        return Draw.model_validate_json(place.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        what, cure = "the record of the draw is damaged", "take the one that 'shiftbench label' wrote"
        raise InvalidInput(Problem(what, str(place), first_line(error), cure)) from error


def read_labels(labelled: Path, draw: Draw, names: Mapping[str, str], labels: Sequence[str]) -> dict[str, str]:
    """Read the labels of all drawn texts.

    Args:
        labelled: the file that ``write_draw`` wrote, filled in; the order of its rows is free.
        draw: its record.
        names: the file's own names of the columns ``id`` and ``label``.
        labels: those that there are.
    Returns: the label of each drawn text, by its id.
    Raises: InvalidInput with every drawn text that is missing, repeated or unlabelled, every id that was not drawn,
        every changed probability and every unknown label.
    """
    (table,) = read_tables([labelled])
    missing = [name for name in (names["id"], names["label"], PROBABILITY) if name not in table.frame.columns]
    if missing:
        cure = did_you_mean(missing[0], table.frame.columns)
        raise InvalidInput(Problem("a column is missing", str(labelled), cure=cure, column=missing[0]))
    # An id that a spreadsheet would run was written with an apostrophe before it.
    ids = {str(guarded_cell(each)): each for each in draw.probabilities} | {each: each for each in draw.probabilities}
    frame = table.frame.with_row_index("row", offset=1).select(
        "row",
        id=pl.col(names["id"]).replace(ids),
        label=pl.col(names["label"]).str.strip_chars(),
        chance=pl.col(PROBABILITY).cast(pl.Float64, strict=False),
    )
    problems = _label_problems(frame, draw, names, labels, str(labelled))
    if problems:
        raise InvalidInput(problems)
    return dict(frame.select("id", "label").iter_rows())


def _label_problems(
    frame: pl.DataFrame, draw: Draw, names: Mapping[str, str], labels: Sequence[str], file: str
) -> list[Problem]:
    """Find what keeps labels from being those of the draw."""
    known = pl.col("id").is_in(list(draw.probabilities)).fill_null(value=False)
    drawn = frame.filter(known)
    recorded = drawn["id"].replace_strict(draw.probabilities, return_dtype=pl.Float64)
    changed = ~((drawn["chance"] - recorded).abs() < 1e-6).fill_null(value=False)
    empty = pl.col("label").is_null() | (pl.col("label") == "")
    unknown = drawn.filter(~empty & ~pl.col("label").is_in(list(labels)))
    cure = did_you_mean(unknown["label"][0], labels) + "; name all labels with --labels" if len(unknown) else ""
    label_all = "label every drawn text: those that are hard to label differ from the others"
    faults = (
        ("id", frame.filter(~known), "this id was not drawn", "keep the rows that 'shiftbench label' wrote"),
        ("id", drawn.filter(~pl.col("id").is_first_distinct()), "an id is repeated", "keep one row of each text"),
        (PROBABILITY, drawn.filter(changed), "a probability was changed", "leave the column as it was written"),
        ("label", drawn.filter(empty), "a label is missing", label_all),
        ("label", unknown, "a label is unknown", cure),
    )
    problems = []
    for name, bad, what, mend in faults:
        if len(bad):
            value = {"id": "id", PROBABILITY: "chance", "label": "label"}[name]
            found = "" if what == "a label is missing" else repr(bad[value][0])
            problems.append(
                Problem(
                    what + and_more(len(bad) - 1),
                    file,
                    found,
                    mend,
                    column=names.get(name, name),
                    row=int(bad["row"][0]),
                )
            )
    gone = [each for each in draw.probabilities if each not in set(drawn["id"])]
    if gone:
        what = "a drawn text is missing" + and_more(len(gone) - 1, "text")
        problems.append(Problem(what, file, f"no row with id {gone[0]!r}", label_all, column=names["id"]))
    return problems
