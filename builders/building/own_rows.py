"""Rows of user data: find their columns, validate their values, and report all problems at once."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import polars as pl

from shiftbench.builders.building.own_columns import START, Columns, FoundColumns, infer_kind
from shiftbench.builders.building.own_dates import count_spans, group_dates, look_like_dates
from shiftbench.builders.building.own_labels import misspelt_labels, spellings, unite_spellings
from shiftbench.builders.building.own_tables import OwnTable
from shiftbench.builders.specs.transforms import as_texts, text_digest
from shiftbench.metrics.tagging import tag_notation, tag_scheme
from shiftbench.validation.outside import check_text
from shiftbench.validation.report import InvalidInput, Problem, first_line
from shiftbench.validation.schemas import ANSWERS
from shiftbench.validation.vocabulary import GOLD, OUTSIDE_SOURCES, SPLITS, TOKENS, TaskKind

MAX_DOMAINS = 1_000
"""Maximum number of domains (rows and columns of the grid of shifts); with more, the column probably contains ids."""
TOO_MANY = "there are too many domains"
FEW_DOMAINS = 100
"""Columns with at most this many values are suggested as domain columns if there are too many domains."""
FEW_LABELS = 20
"""Up to this many labels are accepted as classes, however few rows there are."""
MAX_NAME = 100
"""Maximum length of a domain's name, which is used in file and folder names."""


@dataclass(frozen=True)
class OwnRows:
    """Valid rows of user data.

    Attributes:
        kind: the task kind.
        inputs: the input columns.
        frame: columns ``domain`` (as written), the inputs (String; ``tokens`` List(String)), the gold column
            of the task kind (labels as names), ``group``, and ``split`` and ``own_id`` if given; no nulls, rows in the
            order of the files.
        notes: anomalies in the rows that do not prevent a build.
        changes: those of the notes that report values changed while reading.
    """

    kind: TaskKind
    inputs: tuple[str, ...]
    frame: pl.DataFrame
    notes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


def own_rows(
    tables: Sequence[OwnTable], columns: Columns, kind: TaskKind | None = None, min_domains: int = 2
) -> OwnRows:
    """Find and validate the rows of user data.

    Args:
        tables: the tables as read.
        columns: the columns to use.
        kind: the task kind; inferred from the file format or column names by default.
        min_domains: minimum number of domains; 1 if another domain's rows are unlabelled and kept separately.
    Returns: the rows, with notes on anomalies.
    Raises: InvalidInput listing every problem of every table: file, column, rows, fix.
    """
    problems: list[Problem] = []
    frames: list[pl.DataFrame] = []
    is_kind_given = kind is not None
    kinds = {kind or table.kind or infer_kind(table.frame.columns) for table in tables}
    if len(kinds) > 1:
        found = ", ".join(sorted(each.value for each in kinds))
        raise InvalidInput(
            Problem(
                "the files are for different kinds of tasks",
                tables[0].name,
                found,
                "set the kind of task with --columns labels=NAME, tags=NAME, answers=NAME or texts=NAME",
            )
        )
    (kind,) = kinds
    inputs: tuple[str, ...] = ()
    for table in tables:
        reading = _Reading(table, columns, kind)
        frame = reading.rows()
        problems += reading.problems
        inputs = reading.inputs or inputs
        if frame is not None:
            frames.append(frame)
    changes: list[str] = []
    for word in ("domain", *(["label"] if kind is TaskKind.CLASSIFICATION else [])) if frames else ():
        chosen, said = unite_spellings(pl.concat(frame[word] for frame in frames), word)
        frames = [frame.with_columns(pl.col(word).replace(chosen)) for frame in frames] if chosen else frames
        changes += said
    if len({tuple(frame.columns) for frame in frames}) > 1:
        what, cure = "the files have different columns", "give all files the same columns"
        problems.append(Problem(what, tables[0].name, cure=cure))
    elif len(frames) == len(tables):
        together = list(_check_together(frames, tables, columns, kind, min_domains))
        problems += [replace(each, row=each.row and tables[0].number(each.row)) for each in together]
        if kind is TaskKind.CLASSIFICATION:
            problems += [] if is_kind_given else _check_labels(frames, tables, columns)
            problems += _misspelt(frames, tables, columns)
    if problems:
        raise InvalidInput(problems)
    frame = pl.concat(frames)
    _check_notation(frame, tables[0].name, columns, kind)
    if "group" not in frame.columns:
        texts = as_texts(frame.select(inputs[0])) if kind is TaskKind.TAGGING else frame[inputs[0]]
        frame = frame.with_columns(text_digest(texts).alias("group"))
    odd = odd_rows(frame, inputs, kind, tables[0].numbers)
    return OwnRows(kind, inputs, frame, (*changes, *odd), tuple(changes))


def _check_labels(frames: Sequence[pl.DataFrame], tables: Sequence[OwnTable], columns: Columns) -> Iterator[Problem]:
    """Report labels that are nearly all distinct: target texts, ids or measurements rather than classes."""
    labels = pl.concat(frame["label"] for frame in frames).drop_nulls()
    n_labels = labels.n_unique()
    if n_labels <= FEW_LABELS or 2 * n_labels <= len(labels):
        return
    found = f"{n_labels:,} different labels on {len(labels):,} rows, such as {labels[0][:40]!r}"
    cure = (
        "give --columns texts=NAME if these are target texts, labels=NAME if they are classes, or choose another "
        "column with label=NAME"
    )
    yield Problem("nearly all labels are distinct", tables[0].name, found, cure, column=columns.label or "label")


def _misspelt(frames: Sequence[pl.DataFrame], tables: Sequence[OwnTable], columns: Columns) -> Iterator[Problem]:
    """Report misspelt labels: each would count as a class, which lowers macro-F1 by a whole class."""
    counts = dict(pl.concat(frame["label"] for frame in frames).drop_nulls().value_counts(sort=True).iter_rows())
    meant = misspelt_labels(counts)
    for frame, table in zip(frames, tables, strict=True):
        wrong = frame["label"].is_in(list(meant)).fill_null(value=False)
        for label in frame["label"].filter(wrong).unique(maintain_order=True).to_list():
            rows = [table.number(row + 1) for row in (frame["label"] == label).arg_true().to_list()]
            found = f"{label!r} ({row_list(rows)})" if len(rows) > 1 else repr(label)
            cure = (
                f"did you mean {meant[label]!r} ({counts[meant[label]]:,} rows)? correct it; "
                "if it is a class of its own, drop its rows: too few to score"
            )
            what = "a label looks misspelt"
            yield Problem(what, table.name, found, cure, column=columns.label or "label", row=rows[0])


def sound_rows(table: OwnTable, columns: Columns, kind: TaskKind) -> pl.DataFrame:
    """Return the rows of one table under our column names; raise InvalidInput listing every invalid value."""
    reading = _Reading(table, columns, kind)
    frame = reading.rows()
    if reading.problems or frame is None:
        raise InvalidInput(reading.problems)
    return frame


class _Fault(NamedTuple):
    """Rows with one kind of fault: description, column (by role), row mask, and suggested fix."""

    what: str
    column: str
    bad: pl.Series
    cure: str


@dataclass
class _Reading:
    """Converts one table to rows, collecting problems."""

    table: OwnTable
    columns: Columns
    kind: TaskKind
    problems: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        columns = FoundColumns(self.table, self.columns, self.kind)
        self.inputs, self.names, self.has_columns = columns.inputs, columns.names, not columns.problems
        self.problems += columns.problems

    def rows(self) -> pl.DataFrame | None:
        """Return the rows under our column names, valid or not; None if a column is missing."""
        if not self.has_columns:
            return None
        frame = self.table.frame.select(pl.col(own).alias(name) for name, own in self.names.items())
        if "domain" not in frame.columns:
            frame = frame.with_columns(domain=pl.lit(self.table.domain))
        if self.table.split is not None and "split" not in frame.columns:
            frame = frame.with_columns(split=pl.lit(self.table.split))
        if self.columns.domain_by is not None:
            try:
                column = self.names.get("domain", "domain")
                dates = group_dates(frame["domain"], self.columns.domain_by, self.table.name, column)
                frame = frame.with_columns(domain=dates)
            except InvalidInput as error:
                self.problems += error.problems
        for fault in self._find_empty(frame):
            self._add(fault, frame)
        if self.kind is TaskKind.TAGGING:
            frame = split_lists(frame)
            self._check(frame, _tag_faults(frame))
        elif self.kind is TaskKind.EXTRACTIVE_QA:
            frame, faults = _locate_answers(frame)
            self._check(frame, faults)
        if "split" in frame.columns:
            unknown = ~frame["split"].is_in(SPLITS)
            self._check(frame, [_Fault("unknown split", "split", unknown, f"use {', '.join(SPLITS)}")])
        if "own_id" in frame.columns:
            again = ~frame["own_id"].is_first_distinct() & (frame["own_id"] != "")
            self._check(frame, [_Fault("an id is repeated", "own_id", again, "give every row a unique id")])
        order = ("domain", *self.inputs, GOLD[self.kind], "group", "split", "own_id")
        return frame.select(name for name in order if name in frame.columns)

    def _find_empty(self, frame: pl.DataFrame) -> Iterator[_Fault]:
        """Find missing values; an empty answer is not missing, it marks an unanswerable question."""
        for name in frame.columns:
            column = frame[name]
            if name == START:
                continue
            bad = column.is_null()
            if column.dtype == pl.String and name != "answers":
                bad |= (column.str.strip_chars() == "").fill_null(value=True)
            what = "an id is empty" if name == "own_id" else "a value is empty"
            yield _Fault(what, name, bad, "give every row an id" if name == "own_id" else "fill it in or drop the row")

    def _check(self, frame: pl.DataFrame, faults: Sequence[_Fault]) -> None:
        for fault in faults:
            self._add(fault, frame)

    def _add(self, fault: _Fault, frame: pl.DataFrame) -> None:
        bad = fault.bad.fill_null(value=False).arg_true().to_list()
        if not bad:
            return
        value, rows = frame[fault.column][bad[0]], [self.table.number(row + 1) for row in bad]
        shown = "" if value is None or (isinstance(value, str) and not value.strip()) else repr(value)[:80]
        if isinstance(value, pl.Series):
            shown = repr(value.to_list())[:80]
        many = row_list(rows) if len(rows) > 1 else ""
        found = f"{shown} ({many})" if shown and many else shown or many
        column = self.names.get(fault.column, fault.column)
        self.problems.append(Problem(fault.what, self.table.name, found, fault.cure, column=column, row=rows[0]))


def split_lists(frame: pl.DataFrame) -> pl.DataFrame:
    """Split tokens and tags at spaces if they are given as text."""
    texts = [name for name in (TOKENS, "tags") if frame.schema[name] == pl.String]
    return frame.with_columns(
        pl.col(name).str.strip_chars().str.split(" ").list.filter(pl.element() != "") for name in texts
    )


def _tag_faults(frame: pl.DataFrame) -> list[_Fault]:
    tokens, tags = frame[TOKENS].list, frame["tags"].list
    lengths = frame.select((pl.col(TOKENS).list.len() != pl.col("tags").list.len()).alias("bad"))["bad"]
    blank = frame.select(
        (pl.col(name).list.eval(pl.element().is_null() | (pl.element().str.strip_chars() == "")).list.any()).alias(name)
        for name in (TOKENS, "tags")
    )
    return [
        _Fault("a row has no tokens", TOKENS, tokens.len() == 0, "fill it in or drop the row"),
        _Fault(
            "the numbers of tags and tokens differ", "tags", lengths & (tokens.len() > 0), "give each token one tag"
        ),
        _Fault("a token is empty", TOKENS, blank[TOKENS], "fill it in or drop it with its tag"),
        _Fault("a tag is empty", "tags", blank["tags"] & (tags.len() > 0), "write O for a token outside all spans"),
    ]


def _locate_answers(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[_Fault]]:
    """Add context offsets to answers given as plain text: the given offset, or the first occurrence."""
    wrong, unread = [], []
    answers: list[dict[str, list[str] | list[int]]] = []
    starts = frame[START].to_list() if START in frame.columns else [None] * len(frame)
    for context, value, start in zip(frame["context"].to_list(), frame["answers"].to_list(), starts, strict=True):
        texts, places, is_read = _find_places(context or "", value, start)
        unread.append(not is_read)
        pairs = zip(texts, places, strict=False)
        wrong.append(is_read and any(place < 0 or not (context or "").startswith(text, place) for text, place in pairs))
        answers.append({"text": texts, "answer_start": places})
    faults = [
        _Fault("an answer does not occur in its context", "answers", pl.Series(wrong), "copy it from the context"),
        _Fault("an offset is not a whole number", START, pl.Series(unread), "count characters from 0"),
    ]
    if START not in frame.columns:
        faults.pop()
    return frame.with_columns(pl.Series("answers", answers, ANSWERS)) if not any(wrong) else frame, faults


def _find_places(
    context: str, value: str | list[str] | dict[str, list[object]] | None, start: str | None
) -> tuple[list[str], list[int], bool]:
    """Return an answer's texts, their offsets, and whether the given offset could be parsed.

    A list contains several correct answers, each located at its first occurrence in the context.
    """
    if isinstance(value, dict):
        return [str(text) for text in value["text"]], [int(str(place)) for place in value["answer_start"]], True
    if isinstance(value, list):
        return value, [context.find(text) for text in value], True
    if not (value or "").strip():
        return [], [], True
    text = str(value)
    if start is None or not start.strip():
        return [text], [context.find(text)], True
    return ([text], [int(start)], True) if start.strip().isdigit() else ([text], [-1], False)


def _check_together(
    frames: Sequence[pl.DataFrame], tables: Sequence[OwnTable], columns: Columns, kind: TaskKind, min_domains: int
) -> Iterator[Problem]:
    """Find problems that concern the rows of all tables together."""
    name, gold = tables[0].name, GOLD[kind]
    plain = [each for each in ("domain", "split", "own_id", "label") if each in frames[0].columns]
    frame = pl.concat(each.select(plain) for each in frames).with_row_index("_row", 1)
    if "own_id" in plain and len(tables) > 1:
        again = frame.filter(~frame["own_id"].is_first_distinct())["own_id"]
        if len(again):
            found = f"{again[0]!r}, {len(again):,} in all"
            yield Problem("an id is in two files", name, found, "give every row a unique id", column=columns.id)
    if "split" in plain:
        for (domain,), rows in frame.group_by("domain", maintain_order=True):
            if rows["split"].unique().to_list() == ["validation"]:
                what, cure = f"domain {domain!r} has only validation rows", "give it train or test rows"
                yield Problem(what, name, "validation", cure, column=columns.split or "split", row=rows["_row"][0])
    own = {"domain": columns.domain or "domain"} | ({"label": columns.label or "label"} if gold == "label" else {})
    for ours, column in own.items():
        if frame[ours].n_unique() < (min_domains if ours == "domain" else 2):
            what = f"at least two different values are needed to measure a shift in column '{column}'"
            found, cure = repr(frame[ours][0]) if len(frame) else "no rows", "add rows with another value"
            yield Problem(what, name, found, cure, column=column)
    for ours, column in own.items():
        yield from _hidden_characters(frame[ours], name, column)
    for problem in name_domains(frame["domain"], name, own["domain"])[1]:
        is_many = problem.what == TOO_MANY
        yield replace(problem, cure=_domain_cure(frame["domain"], tables, own)) if is_many else problem


def _hidden_characters(values: pl.Series, name: str, column: str) -> Iterator[Problem]:
    """Report names with invisible characters, each once, at its first row."""
    for value in values.drop_nulls().unique(maintain_order=True).to_list():
        try:
            check_text(value, name, column=column)
        except InvalidInput as error:
            row = int((values == value).arg_true()[0]) + 1
            yield from (replace(problem, row=row) for problem in error.problems)


def _domain_cure(domains: pl.Series, tables: Sequence[OwnTable], own: Mapping[str, str]) -> str:
    """Suggest a fix for too many domains: group dates, or choose a column that does not contain ids."""
    if cure := date_cure(domains):
        return cure
    table = tables[0].frame
    plain = [name for name in table.columns if table.schema[name] == pl.String and name not in own.values()]
    few = {name: n for name in plain if 2 <= (n := table[name].n_unique()) <= FEW_DOMAINS}
    listed = ", ".join(f"'{name}' ({n})" for name, n in few.items())
    cure = f"these look like ids; choose a column with at most {MAX_DOMAINS:,} domains (--columns domain=NAME)"
    return f"{cure}: columns with few values are {listed}" if few else cure


def _check_notation(frame: pl.DataFrame, name: str, columns: Columns, kind: TaskKind) -> None:
    if kind is TaskKind.TAGGING:
        tags = tag_names(frame)
        column = columns.label or "tags"
        for tag in tags:
            check_text(tag, name, column=column)
        try:
            tag_scheme(tags, tag_notation(tags))
        except ValueError as error:
            cure = "write B-X for the first token of a span of type X, I-X for its other tokens, and O outside spans"
            raise InvalidInput(
                Problem("the tags are not in BIO notation", name, first_line(error), cure, column=column)
            ) from error


def tag_names(frame: pl.DataFrame) -> tuple[str, ...]:
    """Return the distinct tags of rows: ``O`` first, the others sorted."""
    tags = set(frame["tags"].explode().unique().to_list())
    return ("O", *sorted(tags - {"O"}))


def name_domains(domains: pl.Series, file: str, column: str = "domain") -> tuple[dict[str, str], list[Problem]]:
    """Convert domain names to valid names: lower-case letters, digits, ``-`` and ``_``.

    Args:
        domains: domain values from the file, with repeats; empty ones are ignored.
        file: the file, for problems.
        column: the name of their column in the file.
    Returns: the valid name by domain value, and the problems: one for each domain whose name would be reserved (for
        models without a source domain), empty or too long, and one for all domains whose names would be equal. If
        there are too many domains: no names, and one problem.
    """
    names: dict[str, str] = {}
    by_name: dict[str, list[str]] = {}
    problems = []
    if domains.n_unique() > MAX_DOMAINS:
        found, cure = (
            f"{domains.n_unique():,} different values",
            f"choose a column with at most {MAX_DOMAINS:,} domains",
        )
        return {}, [Problem(TOO_MANY, file, found, cure, column=column)]
    for text in domains.unique(maintain_order=True).to_list():
        name = re.sub(r"[^a-z0-9_]+", "-", (text or "").strip().lower()).strip("-_")
        if text is None or not text.strip():
            continue
        what = ""
        if name in OUTSIDE_SOURCES:
            what = f"'{name}' is reserved for models without a source domain"
        elif not name:
            what = "no name can be made from this domain: it has no letter a-z and no digit"
        elif len(name) > MAX_NAME:
            what = f"a domain's name is longer than {MAX_NAME} characters"
        if what:
            row = int((domains == text).arg_true()[0]) + 1
            problems.append(Problem(what, file, repr(text)[:80], "give it another name", column=column, row=row))
        names[text] = name
        if name:
            by_name.setdefault(name, []).append(text)
    if variants := [each for each in by_name.values() if len(each) > 1]:
        found = "; ".join(" and ".join(repr(text)[:80] for text in each[:SHOWN]) for each in variants[:SHOWN])
        what = "domains that differ only in case, spaces or punctuation would have the same name"
        row = int((domains == variants[0][1]).arg_true()[0]) + 1
        cure = "spell each domain in one way, and give different domains names that differ in letters or digits"
        problems.append(Problem(what, file, found, cure, column=column, row=row))
    return names, problems


SHOWN = 8
"""Maximum number of row numbers listed."""
_SHEET_ERRORS = ("#REF!", "#N/A", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!")


def row_list(rows: Sequence[int]) -> str:
    """Format row numbers.

    >>> row_list([3]), row_list([3, 7]), row_list(range(1, 12))
    ('row 3', 'rows 3, 7', 'rows 1, 2, 3, 4, 5, 6, 7, 8 and 3 more')
    """
    more = f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:SHOWN]))}{more}"


def date_cure(domains: pl.Series) -> str:
    """Suggest how to group domains that are dates; ``""`` if they are not dates.

    >>> date_cure(pl.Series(["2024-01-05", "2024-02-06", "2024-02-07"]))
    'these are dates: group them with --columns month=NAME (2 domains), quarter (1) or year (1)'
    """
    if not look_like_dates(domains):
        return ""
    n = count_spans(domains)
    return (
        f"these are dates: group them with --columns month=NAME ({n['month']:,} domains), quarter "
        f"({n['quarter']:,}) or year ({n['year']:,})"
    )


def odd_rows(
    frame: pl.DataFrame, inputs: tuple[str, ...], kind: TaskKind, numbers: pl.Series | None = None
) -> Iterator[str]:
    """Describe anomalies in valid rows that do not prevent a build.

    Args:
        frame: rows in the format of ``OwnRows.frame``.
        inputs: the input columns.
        kind: the task kind.
        numbers: row numbers to report; counted from 1 by default.
    """
    of_rows = pl.int_range(1, len(frame) + 1, eager=True) if numbers is None else numbers
    gold = GOLD[kind]
    # 64-bit hashes stand in for the texts to save memory.
    numbered = pl.DataFrame(
        {
            "domain": frame["domain"].hash(),
            "_inputs": _hash_rows(frame.select("domain", *inputs)),
            "_text": _hash_rows(frame.select(inputs[0])),
            "_gold": _hash_rows(frame.select(gold)),
        }
    ).with_columns(_row=of_rows)
    again = numbered.filter(~pl.struct("_inputs", "_gold").hash().is_first_distinct())["_row"].to_list()
    if again:
        yield f"dropped as exact duplicates of another row of their domain: {row_list(again)}"
    several = pl.col("_gold").n_unique().over("_inputs") > 1
    torn = numbered.filter(pl.col("_inputs").is_duplicated()).filter(several)["_row"].to_list()
    if torn and kind is not TaskKind.GENERATION:
        word = "labels" if kind is TaskKind.CLASSIFICATION else gold
        yield f"identical texts of a domain have different {word}: {row_list(torn)}"
    several = pl.col("domain").n_unique().over("_text") > 1
    shared = numbered.filter(pl.col("_text").is_duplicated()).filter(several)["_row"].to_list()
    if shared and kind is not TaskKind.EXTRACTIVE_QA:
        yield f"texts that occur in more than one domain: {row_list(shared)}"
    if cure := date_cure(frame["domain"]):
        yield f"{frame['domain'].n_unique():,} domains, {cure}"
    if twice := spellings(sorted(frame["domain"].unique().to_list())):
        pairs = ", ".join(f"{one!r} and {other!r}" for other, one in sorted(twice.items()))
        yield f"domains that are equal as numbers were not merged: {pairs}"
    if kind is TaskKind.CLASSIFICATION:
        for (domain,), rows in frame.group_by("domain", maintain_order=True):
            if rows["label"].n_unique() == 1:
                yield f"domain {domain!r} has only one label: {rows['label'][0]!r}"
        errors = frame.with_columns(_row=of_rows).filter(pl.col("label").is_in(_SHEET_ERRORS))["_row"].to_list()
        if errors:
            yield f"labels that look like spreadsheet errors: {row_list(errors)}"
        rare = frame["label"].value_counts().filter(pl.col("count") == 1)["label"].sort().to_list()
        if rare:
            row = [int(of_rows[(frame["label"] == label).arg_true()[0]]) for label in rare]
            yield f"labels that occur only once: {', '.join(map(repr, rare[:SHOWN]))} ({row_list(row)})"


def _hash_rows(frame: pl.DataFrame) -> pl.Series:
    """Hash whole rows to 64 bits, in chunks to save memory."""
    hashes = (as_texts(part).hash() for part in frame.iter_slices())
    return pl.concat([pl.Series([], dtype=pl.UInt64), *hashes])
