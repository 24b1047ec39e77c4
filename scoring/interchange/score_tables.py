"""Reader of tables of scores as boards publish them: wide or long, written by hand or by a program.

A wide table has a row per model and a column per task or item; a long one has columns ``model``, ``item`` or ``task``,
``score`` and, optionally, ``cluster``, ``weight``, ``family``, ``date``. Irregularities that are corrected are noted;
ambiguous cells are refused, with row and column.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from shiftbench.scoring.comparing.unit_ranks import ScoreTable, Unit
from shiftbench.scoring.scores.values import Floats
from shiftbench.validation.outside import check_text
from shiftbench.validation.report import InvalidInput, Problem, and_more, did_you_mean, plural, quote_names

MAX_BYTES = 2**30
_MODEL = ("model", "models", "system", "submission", "model_name", "name", "method", "entry")
_ITEM, _TASK = ("item", "item_id", "instance", "instance_id", "question", "id"), ("task", "dataset", "benchmark")
_SCORE = ("score", "value", "correct", "main_score", "result", "acc", "accuracy")
_OPTIONAL = ("cluster", "weight", "family", "date")
_AVERAGE = re.compile(r"(average|avg|mean|overall|total|aggregate|macro|micro)\b.*", re.IGNORECASE)
_ABOUT_MODELS = frozenset(
    (
        *(f"{head}{word}" for head in ("", "n_", "num_", "total_", "active_") for word in ("params", "parameters")),
        *(f"{word}_{unit}" for word in ("params", "parameters", "size", "model_size") for unit in ("b", "m")),
        *("number_of_parameters", "model_params", "model_parameters", "size", "model_size", "size_gb", "size_mb"),
        *("date", "year", "release", "released", "release_date", "release_year", "submission_date"),
    )
)
"""Names, as ``_plain`` writes them, of columns that state a model's size or date."""
_RANK = re.compile(r"#|no\.?|n[°º]|rank.*|place|position", re.IGNORECASE)
_MISSING = frozenset({"", "-", "--", "–", "—", "n/a", "na", "n.a.", "nan", "null", "none", "tbd", "?", "missing", "x"})
_MARKS = re.compile(r"[*†‡§¶^_`]+|\[\d+\]$|\(\d+\)$")
_SPREAD = re.compile(r"\s*(?:±|\+/-|\+-)\s*\S+$|\s+\(\s*±?\s*\d+[.,]\d+\s*\)$")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Reading:
    """How a table is read.

    Attributes:
        unit: the kind of columns; None: inferred from names and values, with a note.
        lower_is_better: whether lower is better in all columns.
        lower: names of further columns where lower is better.
        without: units to exclude.
        families: family of each task, by its name.
        n_items: total number of items, for lists of solved ones; None: the items mentioned in any list.
        metric: score to read from logs; None: the first score that all logs have.
        filter_name: the lm-eval filter; None: the first.
    """

    unit: Unit | None = None
    lower_is_better: bool = False
    lower: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    families: dict[str, str] = field(default_factory=dict)
    n_items: int | None = None
    metric: str | None = None
    filter_name: str | None = None


def table_of_file(path: Path, how: Reading) -> ScoreTable:
    """Read a file with one table: CSV, TSV, Markdown, Parquet, JSON or JSON lines.

    Args:
        path: the file.
        how: how to read it.

    Raises: InvalidInput with every ambiguous cell.
    """
    if path.stat().st_size > MAX_BYTES:
        found = f"{path.stat().st_size:,} bytes"
        raise InvalidInput(Problem("the table is too large", str(path), found, "give scores, not responses"))
    if path.suffix == ".parquet":
        return table_of_frame(pl.read_parquet(path), how, str(path))
    text = path.read_bytes().decode("utf-8-sig", errors="replace")
    if path.suffix in (".json", ".jsonl") or text.lstrip()[:1] in ("{", "["):
        return table_of_frame(_json_frame(text, path), how, str(path))
    frame, notes = _text_frame(text, path)
    return table_of_frame(frame, how, str(path), notes)


def table_of_frame(frame: pl.DataFrame, how: Reading, place: str, notes: Sequence[str] = ()) -> ScoreTable:
    """Read a table from a frame, wide or long.

    Args:
        frame: the table; cells may be numbers or strings.
        how: how to read it.
        place: the table's name in messages.
        notes: notes from reading the file, to which others are added.

    Returns: the validated table.

    Raises: InvalidInput as ``table_of_file``.
    """
    said = list(notes)
    if not frame.width or not frame.height:
        raise InvalidInput(Problem("the table is empty", place, cure="give one row per model"))
    frame = frame.rename({name: " ".join(name.split()) for name in frame.columns if name != " ".join(name.split())})
    names = {name.lower(): name for name in frame.columns}
    model, score = (_find(names, words) for words in (_MODEL, _SCORE))
    item, task = (_find(names, words) for words in (_ITEM, _TASK))
    if model and score and (item or task):
        table = _long_table(frame, (model, item, task, score), names, how, place, said)
    else:
        table = _wide_table(frame, how, place, said)
    return finish(table, how, place)


def finish(table: ScoreTable, how: Reading, place: str) -> ScoreTable:
    """Apply the options of ``how`` (excluded units, families, direction, kind of unit), and check names."""
    notes, keep = list(table.notes), np.ones(len(table.units), dtype=bool)
    for words, names in (("--without", how.without), ("--lower", how.lower), ("--families", tuple(how.families))):
        strange = [name for name in names if name not in table.units]
        if strange and words != "--families":
            cure = did_you_mean(strange[0], list(table.units)[:2000])
            raise InvalidInput(Problem(f"{words} must be a unit of the table", place, f"'{strange[0]}'", cure))
    if how.without:
        keep = np.array([name not in how.without for name in table.units])
        notes.append(f"Excluded, as requested: {quote_names(how.without, 5)}")
    empty = keep & ~np.isfinite(table.scores).any(axis=0)
    if empty.any():
        named = quote_names([name for name, is_empty in zip(table.units, empty, strict=True) if is_empty], 5)
        notes.append(f"Excluded, because they have no scores: {named}")
        keep &= ~empty
    units = [name for name, kept in zip(table.units, keep, strict=True) if kept]
    scores = table.scores[:, keep]
    groups = None if table.groups is None else [g for g, kept in zip(table.groups, keep, strict=True) if kept]
    if how.families:
        lacking = [name for name in units if name not in how.families]
        if lacking:
            found = quote_names(lacking, 5)
            raise InvalidInput(Problem("these tasks have no family", "--families", found, "add a row for each"))
        groups = [how.families[name] for name in units]
    same = [name for column, name in enumerate(units) if np.nanmin(scores[:, column]) == np.nanmax(scores[:, column])]
    if same and table.unit is Unit.TASKS:
        notes.append(f"No effect on the ranking, because all models have the same score: {quote_names(same, 5)}")
    lower = np.full(len(units), how.lower_is_better) | np.array([name in how.lower for name in units], dtype=bool)
    if lower.any():
        which = "every unit" if lower.all() else quote_names(how.lower, 5)
        notes.append(f"Lower is better on {which}, as requested")
    for name in table.models:
        check_text(name, place, cure="correct the model's name")
    return ScoreTable(
        models=table.models,
        units=units,
        scores=scores,
        unit=how.unit or table.unit,
        groups=groups,
        weights=None if table.weights is None else table.weights[keep],
        lower=lower if lower.any() else None,
        notes=tuple(notes),
    )


def _plain(name: str) -> str:
    """Return a column's name without case, marks and spaces.

    >>> _plain("#Params (B)")
    'params_b'
    """
    return "_".join(re.findall(r"[a-z0-9]+", name.lower()))


def _find(names: dict[str, str], words: Sequence[str]) -> str | None:
    return next((names[word] for word in words if word in names), None)


def _text_frame(text: str, path: Path) -> tuple[pl.DataFrame, list[str]]:
    """Read delimited text: commas, semicolons, tabs, or Markdown pipes."""
    lines = [line for line in text.splitlines() if line.strip(" ,;\t|")]
    if not lines:
        raise InvalidInput(Problem("the table is empty", str(path), cure="give one row per model"))
    notes = []
    blank = len(text.splitlines()) - len(lines)
    if blank:
        notes.append(f"{plural(blank, 'empty line')} skipped")
    if lines[0].lstrip().startswith("|"):
        lines = [line.strip().strip("|") for line in lines if not re.fullmatch(r"[\s|:-]+", line)]
        delimiter = "|"
    else:
        delimiter = max("\t;,", key=lines[0].count)
    if delimiter != ",":
        notes.append(f"Columns are separated by {'tabs' if delimiter == chr(9) else repr(delimiter)}")
    rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter))
    head = [cell.strip() for cell in rows[0]]
    while head and not head[-1] and all(len(row) < len(head) or not row[len(head) - 1].strip() for row in rows[1:]):
        head.pop()
    if twice := [name for name, n in Counter(head).items() if n > 1]:
        raise InvalidInput(
            Problem("two columns have the same name", str(path), f"'{twice[0]}'", "give each column a unique name")
        )
    wrong = [number for number, row in enumerate(rows[1:], start=1) if len(row) > len(head) and any(row[len(head) :])]
    if wrong:
        found = f"{len(rows[wrong[0]])} cells for {plural(len(head), 'column')}{and_more(len(wrong) - 1)}"
        cure = "quote cells that contain the delimiter; with decimal commas, separate columns by semicolons"
        raise InvalidInput(Problem("a row has more cells than the header", str(path), found, cure, row=wrong[0]))
    short = sum(len(row) < len(head) for row in rows[1:])
    if short:
        notes.append(f"{plural(short, 'row')} shorter than the header: absent cells count as missing")
    cells = [(row + [""] * len(head))[: len(head)] for row in rows[1:]]
    return pl.DataFrame(cells, schema=dict.fromkeys(head, pl.String), orient="row"), notes


def _json_frame(text: str, path: Path) -> pl.DataFrame:
    """Read JSON: rows, columns, lines of rows, or scores by model and unit."""
    try:
        if path.suffix == ".jsonl":
            return pl.DataFrame([msgspec.json.decode(line) for line in text.splitlines() if line.strip()])
        content = msgspec.json.decode(text)
        if isinstance(content, dict) and content and all(isinstance(each, dict) for each in content.values()):
            return pl.DataFrame(
                [{"model": name, **scores} for name, scores in content.items()], infer_schema_length=None
            )
        return pl.DataFrame(content, infer_schema_length=None)
    except (msgspec.DecodeError, pl.exceptions.PolarsError, TypeError, ValueError) as error:
        cure = 'give rows ([{"model": ..., "item": ..., "score": ...}]) or scores by model ({"model": {"item": 1}})'
        raise InvalidInput(Problem("this JSON contains no table", str(path), type(error).__name__, cure)) from error


def _wide_table(frame: pl.DataFrame, how: Reading, place: str, notes: list[str]) -> ScoreTable:
    """Read a table with a row per model, or, if the first column names tasks or items, with a column per model."""
    texts = [name for name in frame.columns if frame[name].dtype == pl.String]
    first = frame.columns[0]
    lowered = {name.lower(): name for name in frame.columns}
    named = _find(lowered, _MODEL)
    if named is None and first.lower() in (*_ITEM, *_TASK):
        notes.append(f"Rows are {first}s and columns are models")
        flipped = frame.select(pl.exclude(first).cast(pl.String)).transpose(
            include_header=True, header_name="model", column_names=[str(each).strip() for each in frame[first]]
        )
        kind = Unit.TASKS if first.lower() in _TASK else Unit.ITEMS
        table = _wide_table(flipped, how, place, notes)
        return ScoreTable(table.models, table.units, table.scores, kind, notes=table.notes)
    names = named
    if names is None and first in texts and frame[first].cast(pl.Float64, strict=False).null_count():
        names = first
    if names is None:
        cure = "name the column with the models 'model'"
        raise InvalidInput(Problem("the table has no column of models", place, ", ".join(frame.columns[:5]), cure))
    rows = _model_rows(frame, names, place, notes)
    frame = frame[rows.tolist()]
    models = [" ".join(str(name).split()) for name in frame[names]]
    columns: dict[str, Floats] = {}
    problems: list[Problem] = []
    passed: list[str] = []
    seen: Counter[str] = Counter()
    for name in frame.columns:
        is_about_models = _plain(name) in _ABOUT_MODELS and name not in (*how.lower, *how.families)
        if name == names or _RANK.fullmatch(name) or is_about_models:
            passed += [name] if name != names else []
            continue
        values, wrong = _numbers(frame[name], name, place, rows, seen)
        if len(wrong) > frame.height / 2 or _AVERAGE.fullmatch(name):
            passed.append(name)
        else:
            columns[name] = values
            problems += wrong
            problems += _mixed_scale(values, name, models, place)
    if problems:
        raise InvalidInput(problems)
    if passed:
        notes.append(
            "Columns that are not scores of one task (averages, ranks, sizes and dates of models, text) excluded: "
            f"{quote_names(passed, 8)}"
        )
    notes += [f"{words} in {plural(n, 'cell')}" for words, n in sorted(seen.items())]
    if not columns:
        raise InvalidInput(Problem("the table has no column of scores", place, cure="give one column per task"))
    scores = np.stack(list(columns.values()), axis=1)
    is_binary = bool(np.isin(scores[np.isfinite(scores)], (0.0, 1.0)).all())
    kind = Unit.ITEMS if is_binary else Unit.TASKS
    if how.unit is None:
        why = "all scores are 0 or 1" if is_binary else "scores are not all 0 or 1"
        notes.append(f"Columns are interpreted as {kind.value}, because {why}; change this with --unit")
    return ScoreTable(models, list(columns), scores, kind, notes=tuple(notes))


def _model_rows(frame: pl.DataFrame, names: str, place: str, notes: list[str]) -> np.ndarray[Any, Any]:
    """Return the indices of the rows to keep, one per model; refuse different rows of the same model."""
    called = [" ".join(str(name or "").split()) for name in frame[names]]
    first: dict[str, int] = {}
    keep, twice = [], []
    for row, name in enumerate(called):
        if not name:
            raise InvalidInput(
                Problem("a row has no model", place, cure="name it, or delete the row", column=names, row=row + 1)
            )
        if name not in first:
            first[name] = row
            keep.append(row)
        elif frame.drop(names).row(row) == frame.drop(names).row(first[name]):
            twice.append(name)
        else:
            found = f"'{name}', also in row {first[name] + 1}"
            cure = "give runs of one model as a long table with dates, or under different names"
            raise InvalidInput(
                Problem("a model has two rows with different scores", place, found, cure, column=names, row=row + 1)
            )
    if twice:
        notes.append(f"Duplicate rows skipped: {quote_names(twice, 5)}")
    if any(name != str(raw) for name, raw in zip(called, frame[names], strict=True)):
        notes.append("Spaces in model names normalised")
    return np.array(keep)


def _numbers(
    column: pl.Series, name: str, place: str, rows: Sequence[int] | np.ndarray[Any, Any], seen: Counter[str]
) -> tuple[Floats, list[Problem]]:
    """Read a column's numbers, NaN if missing; ``seen`` counts each kind of ignored text in cells (such as "%")."""
    if column.dtype == pl.Boolean or column.dtype.is_numeric():
        values = column.cast(pl.Float64).fill_null(float("nan")).to_numpy().copy()
        values[np.isinf(values)] = np.nan
        return values, []
    texts = column.cast(pl.String).str.strip_chars()
    cast = texts.cast(pl.Float64, strict=False)
    values = cast.fill_null(float("nan")).to_numpy().copy()
    values[np.isinf(values)] = np.nan
    wrong = []
    for row in np.flatnonzero(~np.isfinite(values)):
        text = texts[int(row)] or ""
        value, words = _number(text)
        if value is None:
            cure = "write a number, or leave the cell empty"
            wrong.append(
                Problem("this is not a score", place, f"'{text[:60]}'", cure, column=name, row=int(rows[int(row)]) + 1)
            )
        else:
            values[row] = value
            seen.update(words)
    return values, wrong


def _number(text: str) -> tuple[float | None, list[str]]:
    """Read one cell that is not a plain number: the value (NaN: missing; None: unreadable), and notes on other text.

    >>> _number("**81,2%**")
    (81.2, ['Marks (stars, footnotes, bold) ignored', 'Percent signs ignored', 'Decimal commas converted to points'])
    >>> _number("81.2 ± 0.3")[0], _number("8l.2")[0]
    (81.2, None)
    """
    if text.lower() in _MISSING:
        return float("nan"), [] if not text else ["Placeholders for missing scores (n/a, -) treated as missing"]
    words = []
    bare = _SPREAD.sub("", text).strip()
    if bare != text:
        words.append("Spreads after a score (± ...) ignored")
    unmarked = _MARKS.sub("", bare).strip()
    if unmarked != bare:
        words.append("Marks (stars, footnotes, bold) ignored")
    if unmarked.endswith("%"):
        unmarked = unmarked[:-1].strip()
        words.append("Percent signs ignored")
    if re.fullmatch(r"[+-]?\d+,\d{1,2}|[+-]?\d*,\d{4,}|[+-]?0,\d+", unmarked):
        unmarked = unmarked.replace(",", ".")
        words.append("Decimal commas converted to points")
    unmarked = unmarked.replace("\N{MINUS SIGN}", "-")
    return (float(unmarked), words) if _NUMBER.fullmatch(unmarked) else (None, words)


def _mixed_scale(values: Floats, name: str, models: Sequence[str], place: str) -> list[Problem]:
    """Find columns that mix fractions and points, such as one cell of 0.81 where all others are around 81."""
    known = np.flatnonzero(np.isfinite(values))
    if known.size < 3 or np.nanmin(values) < 0:
        return []
    small, large = known[(values[known] > 0) & (values[known] <= 1)], known[values[known] > 10]
    rare, usual = (small, large) if small.size < large.size else (large, small)
    if not small.size or not large.size or rare.size > usual.size / 2 or small.size + large.size < known.size:
        return []
    found = f"{values[rare[0]]:g} ('{models[rare[0]]}'), but others have {np.median(values[usual]):g}"
    return [Problem("a column mixes fractions and points", place, found, "use one scale", column=name)]


def _long_table(
    frame: pl.DataFrame,
    columns: tuple[str, str | None, str | None, str],
    names: dict[str, str],
    how: Reading,
    place: str,
    notes: list[str],
) -> ScoreTable:
    """Read a table with a row per model and item, or task."""
    model, item, task, score = columns
    seen: Counter[str] = Counter()
    values, problems = _numbers(frame[score], score, place, range(frame.height), seen)
    if problems:
        raise InvalidInput(problems[:20])
    notes += [f"{words} in {plural(n, 'cell')}" for words, n in sorted(seen.items())]
    keys = [each for each in (task, item) if each]
    for key in (model, *keys):
        empty = frame[key].is_null() | (frame[key].cast(pl.String).str.strip_chars() == "")
        if empty.any():
            row = int(empty.arg_max() or 0) + 1
            raise InvalidInput(Problem("a row has an empty name", place, "", "fill it in", column=key, row=row))
    optional = {word: names[word] for word in _OPTIONAL if word in names}
    passed = [name for name in frame.columns if name not in (model, score, *keys, *optional.values())]
    if passed:
        notes.append(f"Columns skipped: {quote_names(passed, 8)}")
    tidy = frame.select(
        pl.col(model).cast(pl.String).str.strip_chars().str.replace_all(r"\s+", " ").alias("model"),
        pl.concat_str([pl.col(key).cast(pl.String).str.strip_chars() for key in keys], separator=": ").alias("unit"),
        (pl.col(task).cast(pl.String) if task else pl.lit("")).alias("task"),
        *(pl.col(name).alias(word) for word, name in optional.items()),
        pl.Series("score", values),
        pl.int_range(1, pl.len() + 1).alias("row"),
    )
    tidy = _once(tidy, "date" in optional, place, notes)
    kind = Unit.ITEMS if item else Unit.TASKS
    facts = tidy.group_by("unit", maintain_order=True).agg(
        pl.col("task").first(),
        *(pl.col(word).drop_nulls().n_unique().alias(f"n_{word}") for word in optional if word != "date"),
        *(pl.col(word).drop_nulls().first() for word in optional if word != "date"),
    )
    for word, column in optional.items():
        if word != "date" and (facts[f"n_{word}"] > 1).any():
            unit = facts.filter(pl.col(f"n_{word}") > 1)["unit"][0]
            what = f"one {kind.value.removesuffix('s')} has two values in this column"
            raise InvalidInput(Problem(what, place, f"'{unit}'", "give it one value", column=column))
    pivoted = tidy.pivot(on="unit", index="model", values="score", maintain_order=True)
    units = facts["unit"].to_list()
    scores = pivoted.select(units).to_numpy().astype(np.float64)
    weights = _long_weights(facts, kind, "weight" in optional, place)
    grouping = "cluster" if kind is Unit.ITEMS and "cluster" in optional else "family" if "family" in optional else None
    groups = None
    if grouping:
        groups = [
            str(each) if each is not None else f"({unit})" for each, unit in zip(facts[grouping], units, strict=True)
        ]
    table = ScoreTable(pivoted["model"].to_list(), units, scores, kind, groups, weights, notes=tuple(notes))
    if how.unit is Unit.TASKS and kind is Unit.ITEMS:
        return tasks_of_items(
            table, facts["task"].to_list(), facts["family"].to_list() if "family" in optional else None
        )
    return table


def _once(tidy: pl.DataFrame, has_dates: bool, place: str, notes: list[str]) -> pl.DataFrame:
    """Keep the newest score per model and unit; without dates, different scores are an error."""
    repeated = tidy.filter(tidy.select("model", "unit").is_duplicated())
    if not repeated.height:
        return tidy
    if not has_dates:
        differing = repeated.group_by("model", "unit", maintain_order=True).agg(pl.col("score").n_unique(), "row")
        differing = differing.filter(pl.col("score") > 1)
        if differing.height:
            first = differing.row(0, named=True)
            found = f"'{first['model']}', '{first['unit']}', rows {first['row'][0]} and {first['row'][1]}"
            cure = "add a column 'date' (the newest score is used), or give runs as logs"
            raise InvalidInput(Problem("a model has two scores on one unit", place, found, cure))
        notes.append(f"{plural(repeated.height - differing.height, 'duplicate row')} skipped")
        return tidy.unique(["model", "unit"], keep="first", maintain_order=True)
    kept = tidy.sort("date", maintain_order=True, nulls_last=False).unique(["model", "unit"], keep="last")
    notes.append(
        f"{plural(tidy.height - kept.height, 'older score')} skipped: the newest score per model and unit is used"
    )
    return kept.sort("row")


def _long_weights(facts: pl.DataFrame, kind: Unit, has_weights: bool, place: str) -> Floats | None:
    """Return the units' weights: the table's, or weights of items that count tasks equally; None: all equal."""
    if has_weights:
        weights = facts["weight"].cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        if not np.all(weights > 0):
            raise InvalidInput(Problem("a weight is not a number above 0", place, cure="write one", column="weight"))
        return np.asarray(weights)
    if kind is Unit.ITEMS and facts["task"].n_unique() > 1:
        return np.asarray(facts.select(1 / pl.len().over("task")).to_series().to_numpy())
    return None


def tasks_of_items(table: ScoreTable, tasks: Sequence[str], families: Sequence[str] | None = None) -> ScoreTable:
    """Average items by task; a model that lacks an item of a task has no score there."""
    names, codes = np.unique(list(tasks), return_inverse=True)
    columns = [table.scores[:, codes == number].mean(axis=1) for number in range(names.size)]
    first = [int(np.argmax(codes == number)) for number in range(names.size)]
    groups = None if families is None else [str(families[place]) for place in first]
    note = f"Scores of {plural(len(tasks), 'item')} averaged within {plural(names.size, 'task')}"
    return ScoreTable(
        table.models, names.tolist(), np.stack(columns, axis=1), Unit.TASKS, groups, notes=(*table.notes, note)
    )


def read_families(path: Path) -> dict[str, str]:
    """Read the family of each task from a CSV with the columns ``task`` and ``family``.

    Args:
        path: the CSV.

    Returns: the family, by task.

    Raises: InvalidInput if a column is missing, a cell is empty, or a task occurs twice.
    """
    frame, _ = _text_frame(path.read_text(encoding="utf-8-sig"), path)
    lowered = {name.lower(): name for name in frame.columns}
    task, family = _find(lowered, (*_TASK, *_ITEM)), _find(lowered, ("family", "type", "category"))
    if task is None or family is None:
        raise InvalidInput(
            Problem("columns 'task' and 'family' are needed", str(path), ", ".join(frame.columns), "rename the columns")
        )
    pairs = [(name.strip(), group.strip()) for name, group in zip(frame[task], frame[family], strict=True)]
    if twice := [name for name, n in Counter(name for name, _ in pairs).items() if n > 1]:
        raise InvalidInput(Problem("a task is listed twice", str(path), f"'{twice[0]}'", "list it once"))
    if any(not group for _, group in pairs):
        raise InvalidInput(Problem("a task has no family", str(path), cure="fill it in", column=family))
    return dict(pairs)
