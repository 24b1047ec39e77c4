"""Functions about one model: check, gate, forecast, label, plan, predict.

Each does the same as the command of its name, for tables in memory as well as files. The functions print nothing;
notebooks display the results.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import polars as pl

from shiftbench.baselines.models.settings import ModelSettings
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.encoders import check_encoder
from shiftbench.checking.inputs import as_folder, data_place, given_predictions, prediction_file
from shiftbench.checking.opened_data import OwnColumns, OwnFile
from shiftbench.checking.predicted import add_row_ids
from shiftbench.notebook.python_words import in_python_words
from shiftbench.notebook.results import CheckResult, ForecastResult, GateResult, LabelResult, PlanResult
from shiftbench.scoring.scores.next_steps import MARGIN
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import ELSEWHERE

if TYPE_CHECKING:
    from shiftbench.baselines.models.loading import Classifier
    from shiftbench.checking.inputs import Table

    Model: TypeAlias = str | Path | Classifier | Callable[[list[Any]], Any]
    Predictions: TypeAlias = str | Path | Table | Sequence[Any]
    Data: TypeAlias = str | Path | DatasetFolder | Table


@in_python_words
def check(
    model: "Model | Predictions",
    data: "Data",
    *,
    trained_on: str | None = None,
    train: "str | Path | Table | None" = None,
    task: str | None = None,
    probes: bool | None = None,
    margin: float = MARGIN,
    ordered: bool = False,
    reference: str | None = None,
    history: str | Path | None = None,
    find_domains: bool = False,
    write_domains: str | Path | None = None,
    served_model: str | None = None,
    settings: Mapping[str, Any] | None = None,
    encoder: str | None = None,
    **columns: Unpack[OwnColumns],
) -> CheckResult:
    """Score one model on each domain of your rows, with verdicts and their reasons. As ``shiftbench check``.

    Args:
        model: a fitted classifier with scikit-learn's interface, a function of a list of texts (such as a pipeline of
            transformers), or any MODEL of the command (a Hub id or folder, a ``.skops`` file, ``module:callable``); or
            its predictions: a table or file as in ``score``, or a list with one per row of ``data``.
        data: rows as a table (polars, pandas, pyarrow, a dict of columns) or a file; or a dataset folder.
        trained_on: the source domain, from which drops are measured.
        train: the training texts, as a table or file: test texts among them are excluded.
        task: the folder's task, if it has several.
        probes: train cheap models on each domain, to distinguish a harder domain from a shift; by default, if there are
            at most 5,000 rows.
        margin: drop below which a domain is accepted, a fraction fixed before seeing the scores.
        ordered: whether domains that are not dates are ordered, by number or as in the table.
        reference: first and last of the periods that later ones are compared with, such as ``2025-01..2025-06``.
        history: a file that this call's periods are appended to.
        find_domains: search for unnamed groups of texts that score differently; a table then needs no column of
            domains.
        write_domains: a file to write the rows to, with the domains found in a column ``slice``; read it with
            ``domain="slice"``.
        served_model: the model's name on a server, if ``model`` is its URL.
        settings: how the model is loaded and called, such as ``{"max_length": 64}``.
        encoder: sentence encoder of a second probe and of depths, Hub id or path; by default this machine's.
        **columns: how a table is read (``OwnColumns``): ``domain``, ``label``, ``text``, ``id``, ``split``, ``group``,
            ``by``, ``kind``, ``min_texts``; ``label_map`` maps the model's names of labels to those in the data.
    Returns: scores by domain (fractions), differences, a recommendation for each domain, and the report.
    Raises: InvalidInput listing every problem with the rows, the model or the predictions; TypeError for an argument of
        a wrong type.

    >>> reviews = {"site": ["pub", "shop"] * 40, "stars": ["good", "good", "bad", "bad"] * 20}
    >>> reviews |= {"body": [f"visit {n}" for n in range(80)]}
    >>> found = check(lambda texts: ["good"] * len(texts), reviews, domain="site", label="stars", text="body")
    >>> [domain.domain for domain in found.found.domains]
    ['pub', 'shop']
    """
    from shiftbench.checking.check import Loader, PredictionPaths, run_check
    from shiftbench.checking.history import TimeOptions
    from shiftbench.checking.step_commands import call_formatter

    asked: dict[str, Any] = {"trained_on": trained_on, "task": task, "probes": probes, "encoder": encoder}
    asked |= {"served_model": served_model, "settings": settings, "margin": None if margin == MARGIN else margin}
    asked = {name: value for name, value in asked.items() if value is not None}
    with ExitStack() as stack:
        read = columns
        predicted, data, columns = add_row_ids(model, data, trained_on, columns)
        place = stack.enter_context(data_place(data))
        loader: Loader | PredictionInput
        if isinstance(predicted, str | Path) and (given := given_predictions(predicted)) is not None:
            loader = given
        elif _is_table(predicted):
            loader = PredictionInput(stack.enter_context(prediction_file(predicted)))
        else:
            from shiftbench.baselines.models.loading import load_model, require_loader

            if isinstance(predicted, str | Path):
                require_loader(str(predicted))
            made = _settings(settings)

            def loader(info: Any) -> Any:
                return load_model(
                    predicted, kind=info.kind, inputs=info.inputs, labels=info.labels,
                    label_map=columns.get("label_map"), served_model=served_model, settings=made,
                )  # fmt: skip

        texts = stack.enter_context(data_place(train, "train")) if train is not None else None
        work = Path(stack.enter_context(TemporaryDirectory(prefix="shiftbench-")))
        has_depth = texts is not None and trained_on not in (None, ELSEWHERE)
        places = PredictionPaths(work / "predictions.parquet", work / "unlabelled.parquet")
        names = {str(places.predictions): "found.predictions", str(places.unlabelled): "found.unlabelled"}
        if isinstance(loader, PredictionInput):
            names[str(loader)] = repr(str(model)) if isinstance(model, str | Path) else "predictions"
        elif isinstance(model, str | Path):
            names[""] = repr(str(model))  # "" stands for the first argument of the check
        is_searched = find_domains or write_domains is not None
        return CheckResult(
            run_check(
                loader,
                place,
                OwnFile.of_names(**columns),
                places,
                trained_on=trained_on,
                task=task,
                train_file=texts,
                probes=probes,
                encoder=check_encoder(encoder, probes=probes, has_depth=has_depth, is_searched=is_searched),
                time=TimeOptions(ordered, reference, None if history is None else Path(history)),
                is_searched=is_searched,
                write_domains=None if write_domains is None else Path(write_domains),
                called=_name(data, place),
                margin=margin,
                again=call_formatter(asked, read, names),
            )
        )


@in_python_words
def gate(
    predictions: "Predictions",
    data: "Data",
    *,
    max_drop: float | None = None,
    min_score: float | None = None,
    baseline: "str | Path | Table | None" = None,
    max_regression: float | None = None,
    trained_on: str | None = None,
    strict: bool = False,
    task: str | None = None,
    **columns: Unpack[OwnColumns],
) -> GateResult:
    """Test predictions against limits on every domain. As ``shiftbench gate``; limits are in points, as there.

    Args:
        predictions: as in ``score``, or a list with one per row of ``data``.
        data: as in ``check``.
        max_drop: largest allowed drop of a domain from the source domain.
        min_score: lowest allowed score of a domain.
        baseline: predictions to compare with, which ``max_regression`` needs.
        max_regression: largest allowed loss of a domain compared with the baseline.
        trained_on: the source domain; by default the predictions' only source.
        strict: whether a limit also fails if its test is inconclusive.
        task: the task, if the predictions are for several.
        **columns: how a table is read (``OwnColumns``).
    Returns: the decision: ``passed``, and a row for each limit and domain.
    Raises: InvalidInput listing every problem found; TypeError for an argument of a wrong type.
    """
    from shiftbench.checking.gate import run_gate
    from shiftbench.scoring.scores.limits import Limits
    from shiftbench.validation.command_line import as_fraction

    limits = Limits(as_fraction(max_drop), as_fraction(min_score), as_fraction(max_regression))
    with ExitStack() as stack:
        predicted, data, columns = add_row_ids(predictions, data, trained_on, columns)
        file = stack.enter_context(prediction_file(predicted))
        before = stack.enter_context(prediction_file(baseline, "baseline")) if baseline is not None else None
        place, own = stack.enter_context(data_place(data)), OwnFile.of_names(**columns)
        return GateResult(
            run_gate(file, place, own, limits, baseline=before, trained_on=trained_on, task=task, strict=strict)
        )


@in_python_words
def forecast(
    predictions: "str | Path | Table",
    data: "Data",
    *,
    target: str | Sequence[str] | None = None,
    method: str | Sequence[str] | None = None,
    **columns: Unpack[OwnColumns],
) -> ForecastResult:
    """Forecast a model's accuracy on domains without labels, from its probabilities. As ``shiftbench forecast``.

    Args:
        predictions: as in ``score``.
        data: as in ``check``; rows of domains to forecast have no label.
        target: the domains to forecast; by default all.
        method: the methods; tables show the first; by default all.
        **columns: how a table is read (``OwnColumns``); rows without labels need ``id``.
    Returns: forecasts (fractions), with intervals if enough domains have labels.
    Raises: InvalidInput listing every problem with the rows or the predictions.
    """
    from shiftbench.checking.forecast_data import run_forecast

    targets = [target] if isinstance(target, str) else list(target or ())
    methods = [method] if isinstance(method, str) else None if method is None else list(method)
    with prediction_file(predictions) as file, data_place(data) as place:
        own = OwnFile.of_names(**columns)
        found = run_forecast(file, place, own, methods=methods, targets=targets)
    return ForecastResult(found, _name(data, place), methods[0] if methods else None)


@in_python_words
def label(
    predictions: "str | Path | Table",
    data: "str | Path | Table",
    budget: int | None = None,
    *,
    to_within: float | None = None,
    margin: float = MARGIN,
    domains: str | Sequence[str] = (),
    **columns: Unpack[OwnColumns],
) -> LabelResult:
    """Choose a few texts to label, to estimate a model's accuracy. As ``shiftbench label``.

    Args:
        predictions: predictions of one model, with confidences, as in ``score``.
        data: rows as a table or a file; those without a label may be sampled.
        budget: total number of texts to label, allocated to the domains whose decision at the margin is least certain.
        to_within: instead of a budget, the target half-width of each domain's interval, a fraction.
        margin: drop from which a domain is not accepted, a fraction.
        domains: domains to sample from; by default all.
        **columns: how a table is read (``OwnColumns``); must include ``id``.
    Returns: the texts to label; ``write`` saves them as a CSV to fill in.
    Raises: InvalidInput if the budget is too small or too large, every row has a label, or predictions do not match the
        rows.
    """
    from shiftbench.checking.label_draws import draw_unlabelled

    names = [domains] if isinstance(domains, str) else list(domains)
    with prediction_file(predictions) as file, data_place(data) as place:
        own = OwnFile.of_names(**columns)
        draw, rows = draw_unlabelled(file, place, own, budget, names, within=to_within, margin=margin)
    return LabelResult(draw, rows)


@in_python_words
def plan(
    data: str | Path | DatasetFolder,
    runs: int = 5,
    *,
    task: str | None = None,
    like: "str | Path | Table | None" = None,
    assume: Mapping[str, float] | None = None,
) -> PlanResult:
    """Compute, before training, which drops can be detected, and how many runs or texts 1, 2 and 5 points need.

    Args:
        data: a dataset folder, or the result of ``build_own`` or ``open_dataset``.
        runs: training runs per source, at least 1.
        task: plan only this task.
        like: predictions to measure the assumptions on.
        assume: other values of ``accuracy``, ``discordance``, ``icc`` or ``run_sd``, as fractions.
    Returns: the smallest drops detected with 80% power.
    Raises: InvalidInput for an unknown task or assumption.
    """
    from shiftbench.scoring.scores.plan import parse_assumptions
    from shiftbench.scoring.scores.plan import plan as make_plan
    from shiftbench.scoring.scores.score import token_encoder

    if runs < 1:
        raise InvalidInput(Problem("a plan needs a training run", "runs", str(runs), "give 1 or more"))
    given = parse_assumptions([f"{name}={value}" for name, value in (assume or {}).items()])
    folder = as_folder(data)
    with ExitStack() as stack:
        measured = stack.enter_context(prediction_file(like, "like")) if like is not None else None
        return PlanResult(make_plan(folder, runs, given, measured, task, token_encoder(folder) if like else None))


@in_python_words
def predict(
    model: "Model",
    data: str | Path | DatasetFolder,
    *,
    task: str | None = None,
    source: str = ELSEWHERE,
    split: str = "test",
    target: str | Sequence[str] | None = None,
    subset: str = "all",
    seed: int = 0,
    label_map: Mapping[str, str] | None = None,
    served_model: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Predict a benchmark's texts with any model. As ``shiftbench predict``, but in memory.

    Args:
        model: as in ``check``.
        data: a dataset folder.
        task: its task, if it has several.
        source: the model's training data: a domain, several joined by ``+``, ``none`` or ``elsewhere``.
        split: ``train``, ``validation`` or ``test``.
        target: domains to predict; by default all.
        subset: the subset of test rows.
        seed: seed of the training run.
        label_map: maps the model's names of labels to those in the data, if they differ.
        served_model: the model's name on a server, if ``model`` is its URL.
        settings: how the model is loaded and called.
    Returns: columns ``source``, ``id``, ``prediction``, ``seed`` and, if available, ``confidence`` and
        ``probabilities``: the input of ``score`` and ``submit``.
    Raises: InvalidInput if the model does not suit the task, or naming the row at which it fails.
    """
    from shiftbench.baselines.models.loading import load_model
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt
    from shiftbench.checking.predicted import RowsToPredict

    targets = [target] if isinstance(target, str) else list(target or ()) or None
    folder, made = as_folder(data), _settings(settings)
    rows = RowsToPredict.of(folder, task, source, split, subset, targets)
    info = rows.info
    loaded = load_model(
        model, kind=info.kind, inputs=info.inputs, labels=info.labels, label_map=label_map, served_model=served_model,
        prompt=TaskPrompt.of(folder, rows.task, None, made.instruction), settings=made,
    )  # fmt: skip
    return rows.predict(loaded, seed)


def _name(data: Any, place: Path) -> str:
    """Return the name of the data in reports."""
    return place.name if isinstance(data, str | Path | DatasetFolder) else "a table in memory"


def _settings(given: Mapping[str, Any] | None) -> ModelSettings:
    """Return settings of a model; InvalidInput lists unknown ones."""
    from shiftbench.baselines.models.settings import SETTINGS
    from shiftbench.validation.report import did_you_mean

    names = dict(given or {})
    if unknown := [name for name in names if name not in SETTINGS]:
        what = "models have no such setting"
        raise InvalidInput(
            Problem(what, "settings", repr(name), did_you_mean(name, list(SETTINGS))) for name in unknown
        )
    return ModelSettings(**names)


def _is_table(given: Any) -> bool:
    """Check whether the argument is a table of predictions rather than a model."""
    return isinstance(given, Mapping) or hasattr(given, "__arrow_c_stream__") or hasattr(given, "iloc")
