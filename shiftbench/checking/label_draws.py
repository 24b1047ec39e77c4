"""Texts sampled for labelling: the file to fill in, and a record of the sample with its probabilities."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError
from rich.console import RenderableType

from shiftbench.builders.building.own_labels import respell
from shiftbench.builders.building.own_tables import read_tables
from shiftbench.checking.label_plan import DomainPlan, LabelPlan, plan_labels, plan_lines, shift_mean
from shiftbench.checking.label_rows import LabelRows, join_predictions, read_rows
from shiftbench.checking.opened_data import OwnFile
from shiftbench.metrics.label_budget import expected_interval
from shiftbench.metrics.label_sampling import (
    ENOUGH,
    UNIFORM_SHARE,
    confidence_correlation,
    draw_groups,
    draw_probabilities,
    enough_expected,
    expected_width,
)
from shiftbench.scoring.reports.numbers import points
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.next_steps import MARGIN
from shiftbench.validation.csv_export import guarded_cell, guarded_csv
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import InvalidInput, Problem, and_more, did_you_mean, first_line

PROBABILITY = "draw_probability"
"""Column of the file to be labelled: the sampling probability."""


class DomainDraw(BaseModel):
    """Record of how the texts of one domain were sampled.

    Attributes:
        domain: its name in the data.
        n_texts: number of texts without a label.
        budget: target number of sampled texts; only approximate, because whole groups are sampled.
        method: ``ppi++``, sampled by confidence, or ``wilson``, sampled with equal probabilities.
        expected_width: expected width of the interval, relative to a random sample's; 1 for ``wilson``.
        rho: correlation of confidence and correctness if confidences are calibrated, in [0, 1].
        expected_accuracy: expected from confidences and labelled domains; None for samples from before 0.4.
        expected_low, expected_high: expected interval; None for samples from before 0.4.
    """

    model_config = ConfigDict(extra="forbid")
    domain: str
    n_texts: int
    budget: int
    method: Literal["ppi++", "wilson"]
    expected_width: float
    rho: float
    expected_accuracy: float | None = None
    expected_low: float | None = None
    expected_high: float | None = None


class Draw(BaseModel):
    """A sample of texts for labelling.

    Attributes:
        seed: seed of the sampling.
        group_column: column of the data whose equal values were sampled together; None if not given.
        domains: how each domain's texts were sampled.
        probabilities: sampling probability of each sampled text, by id.
        plan: the plan of sample sizes; None for samples from before 0.4.
    """

    model_config = ConfigDict(extra="forbid")
    seed: int
    group_column: str | None
    domains: list[DomainDraw]
    probabilities: dict[str, float]
    plan: LabelPlan | None = None


def draw_texts(domains: Sequence[DomainPlan], plan: LabelPlan, seed: int, group_column: str | None = None) -> Draw:
    """Sample the texts to label.

    Args:
        domains: for each domain, its unlabelled rows (columns ``id``, ``domain``, ``group``, and ``confidence``,
            calibrated), the number to sample, and the expected accuracy.
        plan: the plan of sample sizes.
        seed: seed of the sampling.
        group_column: the data's name for the column of groups, for the record.
    Returns: the record of the sample, with the ids of the sampled texts.
    """
    rng = np.random.default_rng(seed)
    drawn_domains: list[DomainDraw] = []
    probabilities: dict[str, float] = {}
    for part, share, expected in domains:
        confidence = shift_mean(part["confidence"].to_numpy(), expected.mean)
        groups = group_codes(part["group"])
        # Confidences that were uninformative on the labelled domains are not used.
        is_informative = plan.correlation is None or plan.correlation > 0
        tuned = is_informative and enough_expected(confidence, share * (groups.max() + 1) / len(part))
        chance = draw_probabilities(confidence, groups, share, UNIFORM_SHARE if tuned else 1)
        drawn = draw_groups(chance, groups, rng)
        probabilities |= dict(zip(part["id"].to_numpy()[drawn].tolist(), chance[drawn].tolist(), strict=True))
        width = expected_width(confidence, chance) if tuned else 1.0
        if tuned and plan.correlation is not None:  # capped by how informative confidences have been so far
            width = max(width, (1 - plan.correlation**2) ** 0.5)
        low, high = expected_interval(expected.mean, share, plan.design * width**2)
        drawn_domains.append(
            DomainDraw(
                domain=part["domain"][0],
                n_texts=len(part),
                budget=share,
                method="ppi++" if tuned else "wilson",
                expected_width=width,
                rho=confidence_correlation(confidence),
                expected_accuracy=expected.mean,
                expected_low=low,
                expected_high=high,
            )
        )
    return Draw(seed=seed, group_column=group_column, domains=drawn_domains, probabilities=probabilities, plan=plan)


def group_codes(groups: pl.Series) -> NDArray[np.int64]:
    """Return the group index of each row, consecutive from 0, shape (n,)."""
    return (groups.rank("dense").to_numpy() - 1).astype(np.int64)


def draw_file(labelled: Path) -> Path:
    """Return the path of a sample's record, next to the file to be labelled."""
    return labelled.with_name(f"{labelled.stem}.draw.json")


def draw_unlabelled(
    predictions: Path,
    data: Path,
    own: OwnFile,
    budget: int | None = None,
    domains: Sequence[str] = (),
    seed: int = 0,
    *,
    within: float | None = None,
    margin: float = MARGIN,
) -> tuple[Draw, LabelRows]:
    """Sample from the unlabelled rows of a file.

    Args:
        predictions: predictions of one model, with confidences.
        data: the file.
        own: how to read it.
        budget: total number of texts to label, allocated to the domains whose decision at the margin is least certain.
        domains: domains to sample from; empty for all.
        seed: seed of the sampling.
        within: instead of a budget, the target half-width of each domain's interval, a fraction.
        margin: drop from which a domain is not accepted, a fraction.
    Returns: the sample, and the rows.
    Raises: InvalidInput unless exactly one of ``budget`` and ``within`` is given, if every row has a label, if the
        budget is too small or too large, or if predictions do not match the rows.
    """
    if (budget is None) == (within is None):
        what = "sampling needs either a budget or a precision"
        raise InvalidInput(Problem(what, "--budget, --to-within", cure="give exactly one of them"))
    (table,) = read_tables([data])
    rows = read_rows(table, own.columns, own.kind)
    joined = join_predictions(rows, predictions)
    frame = _select_unlabelled(joined, domains, data)
    parts, plan = plan_labels(joined, frame, budget=budget, within=within, margin=margin)
    return draw_texts(parts, plan, seed, own.columns.group), rows


def _select_unlabelled(frame: pl.DataFrame, domains: Sequence[str], data: Path) -> pl.DataFrame:
    """Return the unlabelled rows of some or all domains; raise InvalidInput if there are none."""
    frame = frame.filter(pl.col("label").is_null())
    if frame.is_empty():
        cure = "give a file in which the rows to be labelled have an empty label"
        raise InvalidInput(Problem("every row has a label", str(data), cure=cure))
    here = frame["domain"].unique(maintain_order=True).to_list()
    for name in domains:
        if name not in here:
            what = "no domain of this name has texts without a label"
            raise InvalidInput(Problem(what, "--domain", repr(name), did_you_mean(name, here)))
    return frame.filter(pl.col("domain").is_in(list(domains))) if domains else frame


def draw_lines(draw: Draw) -> Iterator[RenderableType]:
    """List the expected accuracies, the allocation of labels, and how each domain's texts are sampled."""
    if draw.plan is None:
        return
    yield from plan_lines(draw.plan, len(draw.domains))
    head = ("domain", "to label", "of", "expected accuracy", "expected interval", "errors", "drawn")
    rows, reasons = [], []
    for each in draw.domains:
        accuracy = each.expected_accuracy or 0.0
        errors = round(each.budget * (1 - accuracy))
        narrower = f"{100 * (1 - each.expected_width):.0f}% narrower than at random"
        ends = f"{points(each.expected_low)} to {points(each.expected_high)}"
        drawn = f"by confidence, {narrower}" if each.method == "ppi++" else "at random"
        drawn = "all" if each.budget == each.n_texts else drawn
        rows.append(
            (each.domain, f"{each.budget:,}", f"{each.n_texts:,}", points(accuracy), ends, f"{errors:,}", drawn)
        )
        if drawn == "at random" and (draw.plan.correlation is None or draw.plan.correlation > 0):
            few = min(errors, each.budget - errors)
            reasons.append(f"{each.domain} about {few:,}")
        reach = ((each.expected_high or 1.0) - (each.expected_low or 0.0)) / 2
        if draw.plan.within is not None and each.budget == each.n_texts and reach > draw.plan.within:
            ends = f"an interval of ±{100 * reach:.1f} points"
            yield f"{each.domain}: labelling all {each.n_texts:,} texts gives {ends}."
    yield PlainTable("Texts to label, accuracy in points", head, rows, texts=("drawn",))
    if reasons:
        yield (
            f"Sampling by confidence needs {ENOUGH} errors and {ENOUGH} correct predictions; expected number of the "
            f"rarer: {', '.join(reasons)}."
        )
    elif draw.plan.correlation is not None and draw.plan.correlation <= 0:
        yield "At random, because on the labelled domains confidences do not separate correct from wrong predictions."


def write_draw(draw: Draw, rows: LabelRows, out: Path) -> None:
    """Write the texts to be labelled, in the order of the data, and the record of the sample.

    The file does not contain the model's predictions, which would bias the labels.

    Raises: InvalidInput if a column of the data has the name of the probability column.
    """
    table = drawn_table(draw, rows)
    # The record comes first, because labels without their record could not be used.
    with replace_file(draw_file(out)) as new:
        new.write_text(draw.model_dump_json(indent=1) + "\n", encoding="utf-8")
    with replace_file(out) as new:
        text = guarded_csv(table.columns, table.rows())
        new.write_text(text, encoding="utf-8", newline="")


def drawn_table(draw: Draw, rows: LabelRows) -> pl.DataFrame:
    """Build the table of the texts to be labelled, with the data's column names, in the order of the data.

    Raises: InvalidInput if a column of the data has the name of the probability column.
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
    """Read the record next to a labelled file; raise InvalidInput if it is missing or damaged."""
    place = draw_file(labelled)
    if not place.is_file():
        what, cure = (
            "the record of the sample is missing",
            "put the file that 'shiftbench label' wrote next to the labelled file",
        )
        raise InvalidInput(Problem(what, str(place), cure=cure))
    try:
        return Draw.model_validate_json(place.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        what, cure = "the record of the sample is damaged", "use the one that 'shiftbench label' wrote"
        raise InvalidInput(Problem(what, str(place), first_line(error), cure)) from error


def read_labels(labelled: Path, draw: Draw, names: Mapping[str, str], labels: Sequence[str]) -> dict[str, str]:
    """Read the labels of all sampled texts.

    Args:
        labelled: the file written by ``write_draw``, filled in; its rows may be reordered.
        draw: its record.
        names: the file's names of the columns ``id`` and ``label``.
        labels: the allowed labels.
    Returns: the label of each sampled text, by id.
    Raises: InvalidInput listing every sampled text that is missing, repeated or unlabelled, every id that was not
        sampled, every changed probability and every unknown label.
    """
    (table,) = read_tables([labelled])
    missing = [name for name in (names["id"], names["label"], PROBABILITY) if name not in table.frame.columns]
    if missing:
        cure = did_you_mean(missing[0], table.frame.columns)
        raise InvalidInput(Problem("a column is missing", str(labelled), cure=cure, column=missing[0]))
    # Ids that a spreadsheet would execute were written with a leading apostrophe.
    ids = {str(guarded_cell(each)): each for each in draw.probabilities} | {each: each for each in draw.probabilities}
    frame = table.frame.with_row_index("row", offset=1).select(
        "row",
        id=pl.col(names["id"]).replace(ids),
        label=respell(table.frame[names["label"]].str.strip_chars(), labels),
        chance=pl.col(PROBABILITY).cast(pl.Float64, strict=False),
    )
    problems = _label_problems(frame, draw, names, labels, str(labelled))
    if problems:
        raise InvalidInput(problems)
    return dict(frame.select("id", "label").iter_rows())


def _label_problems(
    frame: pl.DataFrame, draw: Draw, names: Mapping[str, str], labels: Sequence[str], file: str
) -> list[Problem]:
    """List the differences between a labelled file and its sample."""
    known = pl.col("id").is_in(list(draw.probabilities)).fill_null(value=False)
    drawn = frame.filter(known)
    recorded = drawn["id"].replace_strict(draw.probabilities, return_dtype=pl.Float64)
    changed = ~((drawn["chance"] - recorded).abs() < 1e-6).fill_null(value=False)
    empty = pl.col("label").is_null() | (pl.col("label") == "")
    unknown = drawn.filter(~empty & ~pl.col("label").is_in(list(labels)))
    cure = did_you_mean(unknown["label"][0], labels) + "; list all labels with --labels" if len(unknown) else ""
    label_all = "label every sampled text: texts that are hard to label differ from the others"
    faults = (
        ("id", frame.filter(~known), "this id was not sampled", "keep the rows that 'shiftbench label' wrote"),
        ("id", drawn.filter(~pl.col("id").is_first_distinct()), "an id is repeated", "keep one row per text"),
        (PROBABILITY, drawn.filter(changed), "a probability was changed", "restore the column as it was written"),
        ("label", drawn.filter(empty), "a label is missing", label_all),
        ("label", unknown, "unknown label", cure),
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
        what = "a sampled text is missing" + and_more(len(gone) - 1, "text")
        problems.append(Problem(what, file, f"no row with id {gone[0]!r}", label_all, column=names["id"]))
    return problems
