"""Functions of the Python API: open, build, score, compare, rank, validate, submit."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import polars as pl

from shiftbench.builders.cache import cache_folder
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.claims import claim_of_files, read_named_file
from shiftbench.checking.inputs import (
    as_card,
    as_folder,
    as_frame,
    as_path,
    data_place,
    find_subset,
    is_own,
    own_tables,
    prediction_file,
)
from shiftbench.checking.opened_data import OwnColumns, OwnFile, opened_data
from shiftbench.checking.predicted import add_row_ids
from shiftbench.checking.score import run_score
from shiftbench.leaderboard.store import find_folder
from shiftbench.notebook.python_words import in_python_words
from shiftbench.notebook.results import ComparisonResult, RankResult, SampledResult, ScoreResult
from shiftbench.scoring.comparing.files import Entrant, compare_first
from shiftbench.scoring.reports.titles import rename_domains
from shiftbench.scoring.scores.score import checked_predictions, token_encoder
from shiftbench.validation.cards import Card, card_beside
from shiftbench.validation.notices import FormerName
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput, Problem, WrongTypeError, did_you_mean
from shiftbench.validation.vocabulary import UNPARSED

if TYPE_CHECKING:
    from shiftbench.checking.inputs import Table
    from shiftbench.notebook.own import Data, Predictions
    from shiftbench.scoring.comparing.unit_ranks import ScoreTable
    from shiftbench.scoring.interchange.score_tables import Reading

_OWN_TASK = "own"


def open_dataset(place: str | Path, *, revision: str = "main") -> DatasetFolder:
    """Open a dataset folder: a local one, or else ``ORG/NAME`` on the Hub, which is downloaded first.

    Args:
        place: the folder's path, or the repository's name.
        revision: branch, tag or commit of the repository; ignored for a local folder.
    Returns: the folder; rows are read lazily.
    Raises: InvalidInput if there is no such dataset, or it has another format version; TypeError for a wrong type.
    """
    return as_folder(place, "place", revision)


@overload
def score(
    predictions: "Predictions",
    data: "Data",
    *,
    sampled: str | Path,
    labels: Sequence[str] = (),
    **columns: Unpack[OwnColumns],
) -> SampledResult: ...


@overload
def score(
    predictions: "Predictions",
    data: "Data",
    subset: str | None = None,
    *,
    reference: "str | Path | Table | None" = None,
    encoder: str | None = None,
    n_draws: int | None = None,
    margin: float | None = None,
    labels_by_index: bool = False,
    trained_on: str | None = None,
    **columns: Unpack[OwnColumns],
) -> ScoreResult: ...


@in_python_words
def score(
    predictions: "Predictions",
    data: "Data",
    subset: str | None = None,
    *,
    sampled: str | Path | None = None,
    labels: Sequence[str] = (),
    reference: "str | Path | Table | None" = None,
    encoder: str | None = None,
    n_draws: int | None = None,
    margin: float | None = None,
    labels_by_index: bool = False,
    trained_on: str | None = None,
    **columns: Unpack[OwnColumns],
) -> ScoreResult | SampledResult:
    """Validate and score predictions.

    Args:
        predictions: path of a parquet, JSON lines or CSV file, a polars or pandas DataFrame, a pyarrow Table, or a dict
            of columns: ``source`` (training domain), ``id`` (test id), ``prediction`` and, optionally, ``seed``
            (integer, one per run), ``confidence`` (0 to 1) and ``probabilities`` (a list with one per label). For each
            source, target and seed, all test ids are required. For your own rows, a list with one prediction per row is
            also accepted.
        data: the dataset: the result of ``open_dataset``, a folder's path, or ``ORG/NAME`` on the Hub; or your own
            rows, as a table or a file: nothing is built or split, and all rows are test rows unless a column ``split``
            states otherwise.
        subset: the subset of test ids that the predictions cover; by default inferred from their ids.
        reference: predictions whose TT is used if ``predictions`` have none.
        encoder: encoder for BERTScore, Hub id or path; by default this machine's (``SHIFTBENCH_ENCODER``). Other
            metrics need none.
        n_draws: ignored from metric version 7 on, and removed in 0.4: intervals are computed, not simulated.
        margin: test whether no drop exceeds this fraction (0.02 is 2 points), fixed before seeing the scores.
        labels_by_index: predictions are 0-based indices into the task's list of labels.
        trained_on: the source domain of predictions given as a list; by default other data.
        sampled: the CSV written by a ``LabelResult``, with the labels filled in, from which accuracy is estimated.
        labels: with ``sampled``: labels that occur neither in the data nor in the predictions.
        **columns: how your own rows are read (``OwnColumns``): ``domain``, ``label``, ``text``, ``id`` ...
    Returns: the scores, as fractions: scores in [0, 1], drops in [-1, 1]; with ``sampled``, accuracies by domain.
    Raises: InvalidInput listing every problem in the predictions, or if the folder withholds its test labels; TypeError
        for an argument of a wrong type.

    >>> import tempfile
    >>> out = tempfile.TemporaryDirectory()
    >>> rows = {"domain": ["pub", "shop"] * 40, "label": ["good", "good", "bad", "bad"] * 20}
    >>> data = build_own(rows | {"text": [f"visit {n}" for n in range(80)]}, out=f"{out.name}/data")
    >>> tests = data.test("own").filter(domain="shop")["id"]
    >>> scores = score({"source": "pub", "id": tests, "prediction": ["good"] * len(tests)}, data)
    >>> scores.table("shifts").select("source", "target", "scenario").rows()
    [('pub', 'shop', 'Unknown')]
    >>> out.cleanup()
    """
    if n_draws is not None:
        warnings.warn("n_draws of score has no effect and is removed in 0.4", FormerName, stacklevel=2)
    if sampled is not None:
        others = {
            "subset": subset, "reference": reference, "encoder": encoder, "margin": margin,
            "labels_by_index": labels_by_index or None, "min_texts": columns.get("min_texts"),
            "data: a dataset folder": None if is_own(data) else data,
        }  # fmt: skip
        if given := [name for name, value in others.items() if value is not None]:
            raise InvalidInput(Problem("this cannot be combined with sampled", ", ".join(given), cure="omit it"))
        return _score_sampled(predictions, data, columns, trained_on, sampled, labels)
    if labels:
        raise InvalidInput(Problem("labels needs sampled", "labels", cure="omit it, or give the labelled texts"))
    with ExitStack() as stack:
        place: Path | DatasetFolder
        if is_own(data):
            predictions, data, columns = add_row_ids(predictions, data, trained_on, columns)
            place = stack.enter_context(data_place(data))
        else:
            place = _folder_alone(data, columns)
            columns = {}
        file = PredictionInput(stack.enter_context(prediction_file(predictions)), labels_by_index)
        pinned = stack.enter_context(prediction_file(reference, "reference")) if reference is not None else None
        own = OwnFile.of_names(**columns)
        return ScoreResult(run_score(file, place, own, subset=subset, reference=pinned, encoder=encoder, margin=margin))


def _score_sampled(
    predictions: Any, data: Any, columns: OwnColumns, trained_on: str | None, sampled: str | Path, labels: Sequence[str]
) -> SampledResult:
    """Estimate accuracy by domain from a labelled sample."""
    from shiftbench.checking.sampled_scores import score_sampled

    predictions, data, columns = add_row_ids(predictions, data, trained_on, columns)
    own, drawn = OwnFile.of_names(**columns), as_path(sampled, "sampled")
    with prediction_file(predictions) as file, data_place(data) as place:
        return SampledResult(score_sampled(file, place, own.columns, drawn, labels, own.kind))


def _folder_alone(data: Any, columns: OwnColumns) -> DatasetFolder:
    """Open a dataset folder; raise InvalidInput if columns are given, which only apply to tables."""
    if columns:
        what, cure = "these are columns of a table, but data is a dataset folder", "omit them"
        raise InvalidInput(Problem(what, ", ".join(columns), cure=cure))
    return as_folder(data)


@in_python_words
def compare(
    entries: "Mapping[str, Predictions]",
    data: "Data",
    subset: str | None = None,
    *,
    task: str | None = None,
    margin: float | None = None,
    n_swaps: int | None = None,
    seed: int | None = None,
    trained_on: str | None = None,
    **columns: Unpack[OwnColumns],
) -> ComparisonResult:
    """Test whether the first entry differs from the others, on every shift that both cover.

    Args:
        entries: 2 to 4 names with their predictions, each as in ``score``. Cards next to files state the number of
            settings tried, and entries with unequal tuning are flagged.
        data: the dataset, as in ``score``.
        subset: the subset of test ids that the predictions cover; by default inferred from their ids.
        task: compare only on this task; by default on all shared tasks.
        margin: also test whether entries differ by less than this fraction, fixed before seeing the scores.
        n_swaps: removed in 0.4: nothing is simulated.
        seed: removed in 0.4: nothing is simulated.
        trained_on: the source domain of predictions given as lists; by default other data.
        **columns: how your own rows are read (``OwnColumns``).
    Returns: differences (the first minus the other, as fractions), each with its 95% interval, two-sided p value, and p
        value corrected over all tests of the call.
    Raises: InvalidInput if predictions are invalid or share no shift; TypeError for a wrong type.
    """
    if not isinstance(entries, Mapping):
        wanted = "a dict of names and their predictions, such as {'mine': 'a.parquet', 'theirs': 'b.parquet'}"
        raise WrongTypeError("entries", type(entries).__name__, wanted)
    if not 2 <= len(entries) <= 4:
        raise InvalidInput(
            Problem("too few or too many entries to compare", "entries", str(len(entries)), "give 2 to 4")
        )
    if n_swaps is not None or seed is not None:
        warnings.warn(
            "n_swaps and seed of compare are removed in 0.4: there is no resampling", FormerName, stacklevel=2
        )
    if is_own(data):
        return _compare_own(entries, data, columns, trained_on, task, margin)
    folder = _folder_alone(data, columns)
    encoder = token_encoder(folder)
    with ExitStack() as stack:
        entrants = []
        for name, each in entries.items():
            file = stack.enter_context(prediction_file(each, str(name)))
            card, _ = card_beside(file)
            trials = card.tuning_trials if card else None
            subset = subset or find_subset(file, folder)
            entrants.append(Entrant(file, folder, subset, encoder, str(name), tuning_trials=trials))
        return ComparisonResult(compare_first(entrants, task=task, margin=margin))


def _compare_own(
    entries: Mapping[str, Any],
    data: Any,
    columns: OwnColumns,
    trained_on: str | None,
    task: str | None,
    margin: float | None,
) -> ComparisonResult:
    """Compare predictions on user data."""
    given, rows, read = [], data, columns
    for each in entries.values():
        ordered, rows, read = add_row_ids(each, data, trained_on, columns)
        given.append(ordered)
    with ExitStack() as stack:
        files = [stack.enter_context(prediction_file(each, name)) for name, each in zip(entries, given, strict=True)]
        place, own = stack.enter_context(data_place(rows)), OwnFile.of_names(**read)
        opened = stack.enter_context(opened_data(place, own, files[0]))
        named = [read_named_file(str(name), file) for name, file in zip(entries, files, strict=True)]
        claim = claim_of_files(opened, named, place, task=task, margin=margin)
        return ComparisonResult([rename_domains(pair, opened.titles) for pair in claim.comparisons])


def ranks(
    scores: "str | Path | Sequence[str | Path] | Table",
    *,
    unit: str | None = None,
    families: Mapping[str, str] | None = None,
    lower_is_better: bool | Sequence[str] = False,
    without: Sequence[str] = (),
    standardise: bool = False,
    n_items: int | None = None,
    metric: str | None = None,
    filter: str | None = None,
    against: "str | Path | Table | None" = None,
) -> RankResult:
    """Rank the models of any leaderboard: ties for first place, and which differences are significant.

    Args:
        scores: a table, wide (one row per model, one column per task or item) or long (``model``, ``item`` or ``task``,
            ``score`` and, optionally, ``cluster``, ``weight``, ``family``, ``date``); or paths of a table, of logs, of
            MTEB's results, or of lists of solved items.
        unit: ``items`` or ``tasks``: what a column stands for, and hence what conclusions generalise to; by default
            inferred.
        families: family of each task.
        lower_is_better: True for all units, or the names of the units.
        without: units to exclude.
        standardise: rank by the mean of scores standardised per unit.
        n_items: total number of items, for lists of solved items.
        metric: the score in logs; by default the first that all have.
        filter: the lm-eval filter to read.
        against: an earlier table, whose claims are checked.
    Returns: the ranks, with explanations.
    Raises: InvalidInput if scores are unreadable or ambiguous; TypeError for a wrong type.

    >>> table = {"model": ["a", "b"], **{f"task {n}": [0.9, 0.5 + n / 100] for n in range(10)}}
    >>> ranks(table).tied_first
    ('a',)
    """
    from shiftbench.scoring.comparing.unit_ranks import Unit, compare_rankings, rank_table
    from shiftbench.scoring.interchange.score_tables import Reading

    if unit is not None and unit not in (*Unit,):
        raise InvalidInput(Problem("no such unit", "unit", repr(unit), did_you_mean(unit, [*Unit])))
    lower = () if isinstance(lower_is_better, bool) else tuple(lower_is_better)
    how = Reading(
        None if unit is None else Unit(unit),
        lower_is_better is True,
        lower,
        tuple(without),
        dict(families or {}),
        n_items,
        metric,
        filter,
    )
    title = Path(scores).name if isinstance(scores, str | Path) else "Ranks"
    ranking = rank_table(_score_table(scores, "scores", how), standardised=standardise)
    standing = None
    if against is not None:
        earlier = rank_table(_score_table(against, "against", how), standardised=standardise)
        standing = compare_rankings(earlier, ranking)
    return RankResult(ranking, title, standing)


def _score_table(given: Any, argument: str, how: "Reading") -> "ScoreTable":
    """Read a table of scores from memory or from paths."""
    from shiftbench.scoring.interchange.boards import read_board
    from shiftbench.scoring.interchange.score_tables import table_of_frame

    if isinstance(given, str | Path):
        return read_board([as_path(given, argument)], how)
    if isinstance(given, list | tuple):
        return read_board([as_path(each, argument) for each in given], how)
    return table_of_frame(as_frame(given, argument), how, argument)


def validate(
    predictions: "str | Path | Table",
    data: str | Path | DatasetFolder,
    subset: str | None = None,
    *,
    card: Card | Mapping[str, Any] | str | Path | None = None,
    labels_by_index: bool = False,
) -> pl.DataFrame:
    """Validate predictions, and their card, against a dataset; its test labels are not needed.

    Args:
        predictions: as in ``score``.
        data: the dataset, as in ``score``.
        subset: the subset of test ids that the predictions cover; by default from the card, or inferred from their ids.
        card: the card, a dict of its fields, or its file.
        labels_by_index: as in ``score``.
    Returns: one row per valid run: task, source, target, seed, n (predictions), unparsed (unusable outputs
        among the predictions).
    Raises: InvalidInput listing every problem: file or argument, column, row, suggested fix; TypeError for a wrong
        type.
    """
    folder = as_folder(data)
    if card is not None:
        checked = as_card(card)
        find_folder(checked, [folder])
        subset = checked.subset
    with prediction_file(predictions) as path:
        frame = checked_predictions(PredictionInput(path, labels_by_index), folder, subset or find_subset(path, folder))
    counts = {"n": pl.len().cast(pl.Int64), "unparsed": (pl.col("prediction") == UNPARSED).sum().cast(pl.Int64)}
    return frame.group_by("task", "source", "target", "seed", maintain_order=True).agg(**counts)


def submit(
    predictions: "str | Path | Table",
    card: Card | Mapping[str, Any] | str | Path,
    to: str | Path,
    *,
    data: str | Path | DatasetFolder | Sequence[str | Path | DatasetFolder] | None = None,
    any_token: bool = False,
    labels_by_index: bool = False,
    validation: "str | Path | Table | None" = None,
) -> dict[str, Any]:
    """Send predictions and their card to a leaderboard or into a store.

    Args:
        predictions: as in ``score``.
        card: the card, a dict of its fields, or its file.
        to: a leaderboard's URL, a store's folder, or ``hf://datasets/ORG/NAME``.
        data: the dataset, or several; for a store, if the card's dataset was not built on this machine.
        any_token: send the saved Hugging Face token even if it may write to repositories.
        labels_by_index: as in ``score``.
        validation: the same models' predictions on validation rows, in the format of ``predictions``; used by
            forecasts.
    Returns: ``entry``, its id; ``new``, False if the same file with the same card already existed; and ``summary``,
        whose ``tasks`` contain the name of their ``board`` and ``why_unranked``, the reason if the entry is not ranked.
    Raises: InvalidInput listing every problem; nothing is stored then. TypeError for a wrong type.
    """
    from shiftbench.leaderboard.app.client import send

    checked = as_card(card)
    several = [] if data is None else data if isinstance(data, Sequence) and not isinstance(data, str) else [data]
    folders = [as_folder(each) for each in several]
    # Path would turn http:// into http:/.
    place = to if isinstance(to, str) else str(as_path(to, "to"))
    more = nullcontext() if validation is None else prediction_file(validation)
    with prediction_file(predictions) as path, more as held_out:
        return send(
            PredictionInput(path, labels_by_index), checked, place, folders, any_token=any_token, validation=held_out
        )


@in_python_words
def build_own(
    frame: "str | Path | Sequence[str | Path] | Table",
    *,
    domain: str | None = None,
    label: str | None = None,
    text: str | tuple[str, str] | None = None,
    id: str | None = None,
    split: str | None = None,
    group: str | None = None,
    kind: str | None = None,
    min_texts: int = 30,
    name: str = _OWN_TASK,
    out: str | Path | None = None,
    encoder: str | None = None,
    seed: int = 0,
    overwrite: bool = False,
) -> DatasetFolder:
    """Build a dataset folder from your own table; the same rows and options give the same folder.

    Without a split column, the rows are split into train, validation and test, and only the test rows are scored; a
    warning states the counts. To score all rows, add a split column with 'test' in every row.

    Args:
        frame: a polars or pandas DataFrame, a pyarrow Table, a dict of columns, or the path of a file (CSV, JSON lines,
            Parquet, SQuAD's JSON, lines of tokens), of several files (one per domain) or of a folder of them.
        domain: the column of domains, at least two different ones; by default ``domain``.
        label: the column to be predicted; by default ``label``, ``tags``, ``answers`` or ``target_text``.
        text: the column of texts, or the two of premises and hypotheses, or of contexts and questions; by default the
            columns with the default names.
        id: a column of unique ids.
        split: the column of train, validation and test; by default ``split``, or a random split by group.
        group: the column that groups dependent rows, such as a document; by default ``group``, or identical texts.
        kind: ``labels``, ``tags``, ``answers`` or ``texts``; by default inferred from the file or its columns.
        min_texts: minimum test texts of a domain for including it in means.
        name: name of the task in ids: lower-case letters, digits, - and _.
        out: the folder to write; by default one in the cache, which is reused for the same rows and options.
        encoder: sentence encoder for depths, Hub id or path (extra 'encoder'); by default no depths are computed.
        seed: seed of the split.
        overwrite: replace what is in ``out``.
    Returns: the opened folder; its manifest contains notes about unusual rows.
    Raises: InvalidInput listing every problem, such as a missing column, an empty value, or an existing ``out``;
        TypeError for a wrong type.
    """
    from shiftbench.builders.building.own import build_rows, own_key
    from shiftbench.builders.building.own_columns import Columns, find_kind
    from shiftbench.builders.building.own_rows import own_rows
    from shiftbench.builders.writing.writer import check_out
    from shiftbench.checking.own_data import warn_of_splits

    tables = own_tables(frame, "frame")
    texts = () if text is None else (text,) if isinstance(text, str) else tuple(text)
    columns = Columns(domain, label, texts, id, split, group)
    rows = own_rows(tables, columns, find_kind(kind))
    vectors = Encoder(encoder) if encoder else None
    options: dict[str, Any] = {"min_texts": min_texts, "seed": seed, "encoder": vectors}
    key = own_key(name, rows, tables, **options)[:16]
    folder = cache_folder() / "own" / key if out is None else as_path(out, "out")
    # In the cache a folder's name is the hash of its rows and options, so an existing one is reused.
    if overwrite or out is not None or not folder.is_dir():
        check_out(folder, overwrite=overwrite, withhold=False)
        build_rows(name, rows, tables, folder, **options)
    opened = DatasetFolder.open(folder)
    warn_of_splits(opened)
    return opened
