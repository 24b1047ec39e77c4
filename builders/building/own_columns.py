"""Column roles of user data: as given on the command line, or found by the usual names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from shiftbench.builders.building.own_labels import fold
from shiftbench.builders.building.own_tables import OwnTable
from shiftbench.validation.report import Problem, UnknownChoice, did_you_mean
from shiftbench.validation.schemas import ANSWERS
from shiftbench.validation.vocabulary import GOLD, TOKENS, TaskKind

KINDS = {
    "labels": TaskKind.CLASSIFICATION,
    "tags": TaskKind.TAGGING,
    "answers": TaskKind.EXTRACTIVE_QA,
    "texts": TaskKind.GENERATION,
}
"""Task kinds of user data, by the role names of ``--columns``."""
METRICS = {
    TaskKind.CLASSIFICATION: ("macro_f1", "accuracy"),
    TaskKind.TAGGING: ("span_f1",),
    TaskKind.EXTRACTIVE_QA: ("token_f1",),
    TaskKind.GENERATION: ("rouge_l",),  # BERTScore needs an encoder, which may be missing
}
"""Metrics available for tasks of user data, by kind; the default first."""
SPANS = ("week", "month", "quarter", "year")
"""Time spans by which dates can be grouped into domains."""
ROLES = ("domain", *SPANS, "text", "id", "split", "group", "label", *KINDS, "prediction")
"""Column roles in ``--columns``; a span names a column of dates, and a key of ``KINDS`` also sets the task kind."""

_INPUTS: Mapping[TaskKind, tuple[tuple[str, ...], ...]] = {
    TaskKind.CLASSIFICATION: (("text",), ("premise", "hypothesis")),
    TaskKind.TAGGING: ((TOKENS,), ("text",)),
    TaskKind.EXTRACTIVE_QA: (("context", "question"),),
    TaskKind.GENERATION: (("text",), ("source_text",)),
}
"""Default names of input columns, the most common first."""
_INPUT_NAMES = {name for usual in _INPUTS.values() for names in usual for name in names}
_GOLD: Mapping[TaskKind, tuple[str, ...]] = {kind: (name,) for kind, name in GOLD.items()} | {
    TaskKind.EXTRACTIVE_QA: ("answers", "answer"),
    TaskKind.GENERATION: ("target_text", "target", "summary"),
}
_TEXT = ((pl.String,), "give a text in each cell")
_FORMS: Mapping[TaskKind, tuple[tuple[pl.DataType | type[pl.DataType], ...], str]] = {
    TaskKind.TAGGING: (
        (pl.List(pl.String), pl.String),
        """give a list in each cell, such as ["Ada", "lives"] and ["B-PER", "O"], or words separated by spaces""",
    ),
    TaskKind.EXTRACTIVE_QA: (
        (ANSWERS, pl.List(pl.String), pl.String),
        """give an answer in each cell, a list such as ["in 1843", "1843"], or text and answer_start as in SQuAD""",
    ),
}
"""Accepted types of answer and token columns, and an example cell."""
_FORM_NAMES = {pl.List(pl.String): "lists of texts", ANSWERS: "answers with their offsets", pl.String: "texts"}
START = "answer_start"
NO_COLUMN = "a column is missing"
_USES = {"domain": "domains", "gold": "labels, tags, answers or target texts", "text": "texts", "id": "ids",
         "split": "splits", "group": "groups"}  # fmt: skip


@dataclass(frozen=True)
class Columns:
    """Names of the user's columns; None stands for the usual name (for ids: no column).

    Attributes:
        domain: the domain.
        label: the gold: label, tags, answers or target text.
        text: input texts; two for premise and hypothesis, or context and question.
        id: ids of the rows; they must be unique and not missing.
        split: train, validation or test; by default rows are split at random by group.
        group: groups of dependent rows, such as a document; by default rows with equal texts.
        domain_by: group dates in the domain column by ``week``, ``month``, ``quarter`` or ``year``.
        prediction: the column of predictions in prediction files for these rows.
        label_map: pairs of a model's label and the corresponding label of the rows.
    """

    domain: str | None = None
    label: str | None = None
    text: tuple[str, ...] = ()
    id: str | None = None
    split: str | None = None
    group: str | None = None
    domain_by: str | None = None
    prediction: str | None = None
    label_map: tuple[tuple[str, str], ...] = ()

    def mapped(self, labels: pl.Series) -> pl.Series:
        """Replace a model's labels by those of the rows, as given in ``label_map``.

        Args:
            labels: predicted labels; those not in ``label_map`` (ignoring case) are unchanged.
        """
        of_model = {fold(name): label for name, label in self.label_map}
        distinct = labels.drop_nulls().unique().to_list() if of_model else []
        return labels.replace({each: of_model[fold(each)] for each in distinct if fold(each) in of_model})

    def by_use(self) -> dict[str, str]:
        """Return the column names set by the user, by role."""
        one = {"domain": self.domain, "gold": self.label, "id": self.id, "split": self.split, "group": self.group}
        return {use: name for use, name in one.items() if name is not None}


def infer_kind(columns: Sequence[str]) -> TaskKind:
    """Return the task kind that the column names imply; classification if none does."""
    names = set(columns)
    if "tags" in names:
        return TaskKind.TAGGING
    if names & {"answers", "answer"} and {"context", "question"} <= names:
        return TaskKind.EXTRACTIVE_QA
    if "label" not in names and "target_text" in names:
        return TaskKind.GENERATION
    return TaskKind.CLASSIFICATION


def find_kind(word: str | None) -> TaskKind | None:
    """Find a task kind by its name on the command line.

    Args:
        word: a key of ``KINDS``, or None.
    Returns: the kind; None for None.
    Raises: InvalidInput for an unknown name.
    """
    if word is not None and word not in KINDS:
        raise UnknownChoice(Problem("there is no such task kind", "kind", repr(word), did_you_mean(word, list(KINDS))))
    return KINDS[word] if word is not None else None


def parse_columns(values: Sequence[str]) -> tuple[Columns, TaskKind | None]:
    """Parse the values of ``--columns``.

    Args:
        values: ``ROLE=COLUMN``, comma-separated; a comma not followed by ``WORD=`` is part of the column's name. For a
            key of ``KINDS``, the column may be left empty; its usual name is then used.
    Returns: the columns; the task kind, None if no role sets it.
    Raises: UnknownChoice for an unknown role, a repeated role, and two roles that exclude each other.

    >>> parse_columns(["quarter=date,id=key", "text=title, text=body", "tags=bio"])[0].text
    ('title', 'body')
    """
    given: dict[str, list[str]] = {}
    for part in (part for value in values for part in re.split(r",\s*(?=\w+\s*=)", value)):
        role, sign, column = part.partition("=")
        role = role.strip()  # a header may begin or end with blanks, as in 'domain, text, label'
        if not sign or role not in ROLES:
            cure = f"give ROLE=COLUMN, with a role of {', '.join(ROLES)}"
            if role in _INPUT_NAMES:
                cure = "name inputs with the role 'text', twice for a pair: text=sentence1,text=sentence2"
            what = "there is no such column role" if sign else "a column has no role"
            raise UnknownChoice(Problem(what, "--columns", repr(role if sign else part), cure))
        if not column and role not in KINDS:
            raise UnknownChoice(Problem("the column name is missing", "--columns", repr(part), f"give {role}=COLUMN"))
        given.setdefault(role, []).append(column)
    for roles in (("domain", *SPANS), ("label", *KINDS), ("id",), ("split",), ("group",), ("prediction",)):
        typed = [f"{role}={column}" for role in roles for column in given.get(role, ())]
        if len(typed) > 1:
            what = "several columns have the same role"
            raise UnknownChoice(Problem(what, "--columns", ", ".join(typed), "give only one of them"))
    one = {role: columns[0] for role, columns in given.items()}
    span = next((span for span in SPANS if span in one), None)
    kind = next((kind for kind in KINDS if kind in one), None)
    return Columns(
        domain=one.get(span or "domain"),
        label=one.get(kind or "label") or None,
        text=tuple(given.get("text", ())),
        id=one.get("id"),
        split=one.get("split"),
        group=one.get("group"),
        domain_by=span,
        prediction=one.get("prediction"),
    ), find_kind(kind)


def columns_as_typed(columns: Columns) -> tuple[str, ...]:
    """Format columns as values of ``--columns``, the inverse of ``parse_columns``.

    Args:
        columns: the columns; roles without a column are omitted.
    Returns: ``ROLE=COLUMN`` strings.

    >>> columns_as_typed(Columns("date", "stars", ("title", "body"), domain_by="month"))
    ('month=date', 'label=stars', 'text=title', 'text=body')
    """
    each = [
        (columns.domain_by or "domain", columns.domain),
        ("label", columns.label),
        *(("text", text) for text in columns.text),
        ("id", columns.id),
        ("split", columns.split),
        ("group", columns.group),
        ("prediction", columns.prediction),
    ]
    return tuple(f"{role}={name}" for role, name in each if name is not None)


@dataclass
class FoundColumns:
    """The columns of a table, matched to the roles of a task kind.

    Attributes:
        columns: the names set by the user.
        problems: missing and ambiguous columns.
        inputs: standard names of the input columns, such as ``premise``.
        names: the table's column name by standard name: ``domain``, the inputs, the gold, ``answer_start``,
            ``split``, ``group`` and ``own_id``, if present.
    """

    table: OwnTable
    columns: Columns
    kind: TaskKind
    problems: list[Problem] = field(default_factory=list)
    inputs: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._find_columns()

    def _find_columns(self) -> None:
        in_table = self.table.frame.columns
        given = self.columns.by_use()
        for use, name in (*given.items(), *(("text", text) for text in self.columns.text)):
            if name not in in_table:
                what = f"there is no such column for {_USES[use]}"
                self._report_missing(what, name, did_you_mean(name, in_table))
        wanted = [*given.values(), *self.columns.text]
        for name in sorted({name for name in wanted if wanted.count(name) > 1}):
            self.problems.append(
                Problem("a column is used for two roles", self.table.name, f"'{name}' given twice", column=name)
            )
        if self.problems:
            return
        self._find_inputs(in_table, set(given.values()))
        self._find_more("domain", given, in_table)
        if "domain" not in self.names and self.table.domain is None:
            cure = "add 'domain', or give --columns domain=NAME, or one file per domain"
            cure = _other_case(("domain",), in_table) or cure
            self._report_missing(NO_COLUMN, "domain", cure)
        self._find_gold(in_table, set(self.columns.text))
        for name in ("group", "split"):
            self._find_more(name, given, in_table)
        if "id" in given:
            self.names["own_id"] = given["id"]
        elif self.table.kind is TaskKind.EXTRACTIVE_QA and "id" in in_table:
            self.names["own_id"] = "id"

    def _find_more(self, name: str, given: Mapping[str, str], in_table: Sequence[str]) -> None:
        """Find a column by the user's name or the usual one, unless that column has another role."""
        own = given.get(name, name)
        if name in given or (own in in_table and own not in {*given.values(), *self.names.values()}):
            self.names[name] = own

    def _find_inputs(self, in_table: Sequence[str], taken: set[str]) -> None:
        """Find the input columns; tokens may also be one text, separated by spaces."""
        usual = _INPUTS[self.kind]
        free = [name for name in in_table if name not in taken]
        if self.columns.text:
            ours = next((names for names in usual if len(names) == len(self.columns.text)), None)
            if ours is None:
                what, cure = (
                    "the number of text columns is wrong",
                    f"give {' or '.join(str(len(n)) for n in usual)} (--columns text=NAME)",
                )
                self.problems.append(Problem(what, self.table.name, ", ".join(self.columns.text), cure))
                return
            self.inputs, own = ours, self.columns.text
        else:
            own = next((names for names in usual if set(names) <= set(free)), ())
            self.inputs = (TOKENS,) if self.kind is TaskKind.TAGGING and own else own
            if not own:
                names = [name for names in usual for name in names]
                like = " or ".join(" and ".join(f"'{name}'" for name in names) for names in usual)
                cure = f"name it {like.replace(' or ', ', or ')}, or give --columns text=NAME"
                cure = _other_case(names, in_table) or cure
                self._report_missing("the text column is missing", usual[0][0], cure)
        self.names |= dict(zip(self.inputs, own, strict=True))

    def _find_gold(self, in_table: Sequence[str], taken: set[str]) -> None:
        gold, usual = GOLD[self.kind], _GOLD[self.kind]
        own = self.columns.label or next((name for name in usual if name in in_table and name not in taken), None)
        if own is None:
            self._report_missing(
                NO_COLUMN,
                usual[0],
                _other_case(usual, in_table) or f"add '{usual[0]}', or give --columns label=NAME",
            )
            return
        self.names[gold] = own
        if self.kind is TaskKind.EXTRACTIVE_QA and START in in_table and self.table.frame.schema[own] == pl.String:
            self.names[START] = START
        for name, column in self.names.items():
            dtype = self.table.frame.schema[column]
            allowed, cure = _FORMS.get(self.kind, _TEXT) if name in (gold, TOKENS) else _TEXT
            if dtype not in allowed:
                what, found = (
                    f"this column must contain {'text' if allowed == _TEXT[0] else name}",
                    _FORM_NAMES.get(dtype, str(dtype)),
                )
                self.problems.append(Problem(what, self.table.name, found, cure, column=column))

    def _report_missing(self, what: str, name: str, cure: str) -> None:
        found = f"columns {', '.join(self.table.frame.columns)}"
        self.problems.append(Problem(what, self.table.name, found, cure, column=name))


def _other_case(names: Sequence[str], columns: Sequence[str]) -> str:
    """List the columns to rename: those that differ from one of these names only in case or spaces."""
    pairs = [(column, column.strip().lower()) for column in columns if column not in names]
    return " and ".join(f"rename '{column}' to '{name}'" for column, name in pairs if name in names)
