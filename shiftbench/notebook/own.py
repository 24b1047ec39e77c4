"""The functions that answer questions about one model: check, gate, forecast, label, plan, predict.

Each is what the command of its name runs, on tables in memory as well as on files. They print nothing; the results show
themselves.
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
from shiftbench.checking.predicted import in_order
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
    """Score one model on each domain of your rows: what holds up, and why. As ``shiftbench check``.

    Args:
        model: a fitted classifier of scikit-learn's form, a function that takes a list of texts (such as a pipeline of
            transformers), or what the command takes (a Hub id or folder, a ``.skops`` file, ``module:callable``); or
            its predictions: a table or file as ``score`` takes it, or a list with one for each row of ``data``.
        data: rows as a table (polars, pandas, pyarrow, a dict of columns) or a file; or a dataset folder.
        trained_on: the domain that the model was trained on: drops are then measured from it.
        train: texts that it was trained on, as a table or file: test texts among them are left out.
        task: the folder's task, where it has several.
        probes: train cheap models on each domain, to tell a harder domain from a shift; by default up to 5,000 rows.
        margin: loss below which a domain is accepted, a fraction that was fixed before the scores were seen.
        ordered: whether domains that are no dates follow each other, by number or as in the table.
        reference: first and last period that later ones are compared with, such as ``2025-01..2025-06``.
        history: a file that this call's periods are added to, after those of earlier ones.
        find_domains: look for groups of texts that score differently and that no column names; a table then needs no
            domains.
        write_domains: a file for the rows with a column ``slice`` of the domains found, for ``domain="slice"``.
        served_model: the model's name on a server, where ``model`` is its URL.
        settings: how the model is loaded and asked, such as ``{"max_length": 64}``.
        encoder: sentence encoder of a second probe and of depths, Hub id or path; by default the machine's.
        **columns: how a table is read (``OwnColumns``): ``domain``, ``label``, ``text``, ``id``, ``split``, ``group``,
            ``by``, ``kind``, ``min_texts``; and ``label_map``, the data's label by the model's name of it.
    Returns: scores by domain, what differs, what to do about each domain, and the report; fractions.
    Raises: InvalidInput with everything that is wrong with the rows, the model or the predictions; TypeError for an
        argument of a wrong type.

    >>> reviews = {"site": ["pub", "shop"] * 40, "stars": ["good", "good", "bad", "bad"] * 20}
    >>> reviews |= {"body": [f"visit {n}" for n in range(80)]}
    >>> found = check(lambda texts: ["good"] * len(texts), reviews, domain="site", label="stars", text="body")
    >>> [domain.domain for domain in found.found.domains]
    ['pub', 'shop']
    """
    from shiftbench.checking.check import Loader, Places, run_check
    from shiftbench.checking.history import TimeOptions
    from shiftbench.checking.step_commands import called_again

    asked: dict[str, Any] = {"trained_on": trained_on, "task": task, "probes": probes, "encoder": encoder}
    asked |= {"served_model": served_model, "settings": settings, "margin": None if margin == MARGIN else margin}
    asked = {name: value for name, value in asked.items() if value is not None}
    with ExitStack() as stack:
        read = columns
        predicted, data, columns = in_order(model, data, trained_on, columns)
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
        places = Places(work / "predictions.parquet", work / "unlabelled.parquet")
        names = {str(places.predictions): "found.predictions", str(places.unlabelled): "found.unlabelled"}
        if isinstance(loader, PredictionInput):
            names[str(loader)] = repr(str(model)) if isinstance(model, str | Path) else "predictions"
        elif isinstance(model, str | Path):
            names[""] = repr(str(model))
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
                again=called_again(asked, read, names),
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
        predictions: as ``score`` takes them, or a list with one for each row of ``data``.
        data: as ``check`` takes it.
        max_drop: largest drop that a domain may have, from home.
        min_score: lowest score of a domain.
        baseline: predictions to compare with, which ``max_regression`` needs.
        max_regression: largest loss that a domain may have, against the baseline.
        trained_on: the home domain; by default the predictions' one source.
        strict: whether a limit that is not shown to be kept fails, too.
        task: the task, where the predictions are of several.
        **columns: how a table is read (``OwnColumns``).
    Returns: the decision: ``passed``, and a row for each limit and domain.
    Raises: InvalidInput with every problem found; TypeError for an argument of a wrong type.
    """
    from shiftbench.checking.gate import run_gate
    from shiftbench.scoring.scores.limits import Limits
    from shiftbench.validation.command_line import as_fraction

    limits = Limits(as_fraction(max_drop), as_fraction(min_score), as_fraction(max_regression))
    with ExitStack() as stack:
        predicted, data, columns = in_order(predictions, data, trained_on, columns)
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
        predictions: as ``score`` takes them.
        data: as ``check`` takes it; rows of a domain to forecast have no label.
        target: the domains to forecast; by default all.
        method: the methods, of which tables are about the first; by default all.
        **columns: how a table is read (``OwnColumns``); rows without labels need ``id``.
    Returns: forecasts with intervals where enough domains have labels; fractions.
    Raises: InvalidInput with everything that is wrong with the rows or the predictions.
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
    """Choose the few texts whose labels show a model's accuracy. As ``shiftbench label``.

    Args:
        predictions: of one model, with confidences, as ``score`` takes them.
        data: rows as a table or a file; those without a label may be drawn.
        budget: texts to label, in all; they go where a decision at the margin hangs.
        to_within: or else how far each domain's interval is to reach to either side, a fraction.
        margin: loss from which on a domain is not accepted, a fraction.
        domains: draw from these domains alone; by default from all.
        **columns: how a table is read (``OwnColumns``); ``id`` must be among them.
    Returns: the texts to label; ``write`` puts them into a CSV to fill in.
    Raises: InvalidInput when the budget does not fit, every row has a label, or predictions do not fit the rows.
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
    """Compute before training which drops can be detected, and what it takes to detect 1, 2 and 5 points.

    Args:
        data: a dataset folder, or what ``build_own`` or ``open_dataset`` returned.
        runs: training runs of each source, at least 1.
        task: plan this task alone.
        like: predictions to measure the assumptions on.
        assume: other values of ``accuracy``, ``discordance``, ``icc`` or ``run_sd``, as fractions.
    Returns: the smallest drops that are found in four studies of five.
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
        model: as ``check`` takes it.
        data: a dataset folder.
        task: its task, where it has several.
        source: what the model was trained on: a domain, several joined by ``+``, ``none`` or ``elsewhere``.
        split: ``train``, ``validation`` or ``test``.
        target: predict these domains alone.
        subset: the subset of test rows.
        seed: number of the training run.
        label_map: the data's label by the model's name of it, where names differ.
        served_model: the model's name on a server, where ``model`` is its URL.
        settings: how the model is loaded and asked.
    Returns: columns ``source``, ``id``, ``prediction``, ``seed`` and, where the model has them, ``confidence`` and
        ``probabilities``: what ``score`` and ``submit`` take.
    Raises: InvalidInput when the model does not fit the task, or fails at a row, which it names.
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
    """Return what pages call the data."""
    return place.name if isinstance(data, str | Path | DatasetFolder) else "a table in memory"


def _settings(given: Mapping[str, Any] | None) -> ModelSettings:
    """Return settings of a model; InvalidInput names an unknown one."""
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
    """Check whether predictions are given as a table, and not a model."""
    return isinstance(given, Mapping) or hasattr(given, "__arrow_c_stream__") or hasattr(given, "iloc")
