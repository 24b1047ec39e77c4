"""The group ``study``: papers' tables and figures, claims, choices of data sets. Heavy imports are inside."""

from pathlib import Path
from typing import Annotated, Any

import typer

from shiftbench.cli.data_options import (
    FAILED,
    FormerEncoderOption,
    MethodOption,
    own_file,
)
from shiftbench.cli.grid import GpuOption
from shiftbench.cli.help import group_of
from shiftbench.validation.command_line import (
    OUTPUT,
    JsonOption,
    ReportOption,
    print_results,
    require,
    show,
    writable_picture,
    write_json,
    write_report,
)
from shiftbench.validation.report import InvalidInput, Problem


def protocol(
    task: Annotated[str, typer.Argument(metavar="TASK", help="Task for which to choose data sets.")],
    reported: Annotated[
        bool, typer.Option("--reported", help="Choose from the BOSS paper's tables: sa, td, nli, ner or eqa.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Choose from the domains of a dataset folder.")
    ] = None,
    encoder: FormerEncoderOption = None,
    predictions: Annotated[
        Path | None,
        typer.Option("--predictions", metavar="FILE", help="Predictions of models trained on the ID (--data)."),
    ] = None,
    id_: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="DOMAIN",
            help="Training data set (ID). Default: that of the folder, otherwise chosen by the protocol.",
        ),
    ] = None,
    n_ood: Annotated[
        int, typer.Option("--n-ood", metavar="N", help="removed in 0.4: the protocol chooses three", min=1, hidden=True)
    ] = 3,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            metavar="FILE",
            help="Plot similarity and scores as PNG.",
            callback=writable_picture,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Choose data sets for training (ID) and testing (OOD).

    Example: shiftbench study protocol nli --reported
    """
    if reported == (data is not None):
        raise typer.BadParameter("give either --reported (the paper's tables) or --data (a dataset folder)")
    if reported and (encoder or predictions):
        raise typer.BadParameter("--encoder and --predictions need --data; --reported uses the paper's own numbers")
    from shiftbench.scoring.papers.protocol.report import choice_lines, choice_picture
    from shiftbench.scoring.papers.protocol.run import choose_measured, choose_reported

    if data is None:
        choice = choose_reported(task, n_ood, id_)
    else:
        from shiftbench.builders.encoder import machine_encoder
        from shiftbench.builders.folder.reader import DatasetFolder
        from shiftbench.checking.encoders import load_encoder

        is_embedded = encoder or machine_encoder() or (picture and not predictions)
        folder, sentences = DatasetFolder.open(data), load_encoder(encoder) if is_embedded else None
        choice = choose_measured(folder, task, n_ood, id_=id_, encoder=sentences, predictions=predictions)
    if picture is not None:
        picture.write_bytes(choice_picture(choice))
    print_results(choice_lines(choice), choice.model_dump(mode="json"), json_)


def _check_folder(out: Path) -> None:
    """Raise InvalidInput if a file has the path of an output folder or of one of its parents."""
    taken = next((path for path in (out.absolute(), *out.absolute().parents) if path.exists()), None)
    if taken is not None and not taken.is_dir():
        raise InvalidInput(
            Problem("a file with the name of this folder exists", "--out", str(taken), "choose another folder")
        )


def analyse(
    data: Annotated[
        list[Path], typer.Option("--data", metavar="DIR", help="Dataset folder; may be given several times.")
    ],
    predictions: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Prediction files, each with its card next to it (FILE.card.yaml)."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="DIR", help="Use all entries of this store: a folder, or hf://datasets/..."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for pictures and tables.", rich_help_panel=OUTPUT)
    ] = Path("build/analysis"),
    figure: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="NAME", help="Draw only this figure; may be repeated. Default: all."),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Draw the papers' figures for any set of entries.

    Each is a PNG (points) and a CSV (fractions).

    Example: shiftbench study analyse sbert.parquet tfidf.parquet --data build/dr --out figures

    Figures: drops-by-difficulty, scenarios, model-size, shots, prompted-model-size, training-size, step, id-ood,
    effective-robustness, divergence, forecast, theorem-one, rank-stability, model-averages.
    """
    if not predictions and store is None:
        raise typer.BadParameter("give prediction files, --store, or both")
    from shiftbench.scoring.papers.analysis.figures import analyse as carry_out
    from shiftbench.scoring.papers.analysis.figures import analysis_lines, as_json, figures_of, write
    from shiftbench.scoring.reports.terminal import warnings
    from shiftbench.validation.progress import progress

    if any(each.draw for each in figures_of(figure or [])):  # checked before any work
        require("matplotlib", "pictures")
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.board.analysed import find_results, read_entries
    from shiftbench.leaderboard.store import open_store

    _check_folder(out)
    folders = [DatasetFolder.open(path) for path in data]
    place = open_store(store) if store else None
    entries, left_out = read_entries(predictions or [], place, folders)
    if place is not None and place.behind:
        left_out.append(place.behind)
    analyses = carry_out(find_results(entries, folders), figure or [])
    out.mkdir(parents=True, exist_ok=True)
    notes = list(dict.fromkeys(note for entry in entries for note in warnings(entry.scores)))
    for analysis in progress(analyses, desc="drawing", unit=" figures"):
        write(analysis, out, notes)
    notes += left_out
    print_results(analysis_lines(analyses, out, notes), as_json(analyses, len(entries), out, notes), json_)


ClaimDataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR_OR_FILE",
        help="Dataset folder, or your own file. Default: the data named in the claim, in the claim's folder.",
    ),
]
ClaimFilesOption = Annotated[
    Path | None,
    typer.Option("--files", metavar="DIR", help="Folder of the prediction files. Default: the claim's folder."),
]
_FORMER_CLAIM = "removed in 0.4: claims record how their file was read, except those of older versions"


def verify(
    claim: Annotated[
        Path, typer.Argument(metavar="CLAIM", help="Output of 'shiftbench compare --json' or 'logs ranks --json'.")
    ],
    data: ClaimDataOption = None,
    files: ClaimFilesOption = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="S", help="Store of the entries: a folder, or hf://datasets/ORG/NAME."),
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option("--columns", metavar="ROLE=COLUMN,...", hidden=True, help=_FORMER_CLAIM)
    ] = None,
    min_texts: Annotated[
        int | None, typer.Option("--min-texts", metavar="N", min=0, hidden=True, help=_FORMER_CLAIM)
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Verify a claim: repeat its tests, and compare all values. Its files are located by the paths in the claim.

    Example: shiftbench study verify claim.json --data build/dr

    Exit code 0: it holds; 3: a value differs, or a conclusion does not hold with current metrics; 1: it cannot be
    verified.
    """
    from shiftbench.checking.claims import claimed_own_file, find_files, find_inside, read_recorded_values, repeat_claim
    from shiftbench.checking.opened_data import opened_data
    from shiftbench.leaderboard.store import open_store
    from shiftbench.scoring.comparing.claims import check_against_scores, check_claim, read_claim
    from shiftbench.scoring.interchange.ranking_claims import (
        check_ranking_claim,
        is_ranking_claim,
        read_ranking_claim,
    )
    from shiftbench.scoring.reports.terminal import claim_lines

    if is_ranking_claim(claim):
        differs = check_ranking_claim(read_ranking_claim(claim), claim, [data] if data else [])
        lines = [f"{line}." for line in differs] or ["The ranking holds: every rank and every pair is the same."]
        print_results(lines, {"holds": not differs, "differs": differs}, json_)
        if differs:
            raise typer.Exit(FAILED)
        return
    claimed = read_claim(claim)
    data = data or (find_inside(claimed.data, claim) if claimed.data else None)
    if data is None:
        raise typer.BadParameter("the claim does not refer to data in its own folder: give --data")
    opened_store = open_store(store) if store is not None else None
    found_files = find_files(claimed, claim, files, opened_store)
    is_typed = columns is not None or min_texts is not None
    own = own_file(columns, min_texts) if is_typed else claimed_own_file(claimed)
    with opened_data(data, own, found_files[0].path, claimed.comparisons[0].subset) as opened:
        result = check_claim(claimed, repeat_claim(claimed, opened, found_files))
    if opened_store is not None and result.moved_by:
        contradicted = check_against_scores(claimed, read_recorded_values(claimed, opened_store))
        result = result.model_copy(update={"facts": (*result.facts, *contradicted)})
    print_results(claim_lines(claimed, result), result.model_dump(mode="json"), json_)
    if not result.holds:
        raise typer.Exit(FAILED)


def artifact(
    claim: Annotated[Path, typer.Argument(metavar="CLAIM", help="Output of 'shiftbench compare --json'.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Archive to write.", rich_help_panel=OUTPUT)],
    data: ClaimDataOption = None,
    files: ClaimFilesOption = None,
) -> None:
    """Pack a claim and its evidence into one archive.

    The claim is verified first. Rows whose licences do not allow redistribution are excluded; the README describes
    how to build them.

    Example: shiftbench study artifact claim.json --data build/dr --out artifact.zip
    """
    from shiftbench.checking.artifact import write_artifact

    members = write_artifact(claim, out, data=data, files=files)
    print_results(
        [f"wrote {out} ({len(members)} files); its README.md describes how to verify it"], {"files": members}, None
    )


def score_forecasts(
    data: Annotated[
        list[Path], typer.Option("--data", metavar="DIR", help="Dataset folder; may be given several times.")
    ],
    forecasts: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="Your own forecasts for a single prediction file: task,source,target,seed,value,low,high.",
        ),
    ] = None,
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            "--predictions",
            metavar="FILE",
            help="Prediction file to forecast, or a grid's folder of runs; may be repeated.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="DIR",
            help="Use all entries with probabilities of a store: a folder, or hf://datasets/...",
        ),
    ] = None,
    method: MethodOption = None,
    level: Annotated[
        float,
        typer.Option(
            "--level",
            metavar="X",
            help="removed in 0.4: intervals are compared at 80%",
            min=0.01,
            max=0.99,
            hidden=True,
        ),
    ] = 0.8,
    report: ReportOption = None,
    json_: JsonOption = None,
) -> None:
    """Compare forecasting methods on domains with known labels.

    Reports errors, intervals, skill against two baselines and the order of domains, with tests.

    Example: shiftbench study score-forecasts --predictions preds.parquet --data build/dr

    Your own method: shiftbench study score-forecasts mine.csv --predictions preds.parquet --data build/dr

    All models of grids: shiftbench study score-forecasts --predictions results/dr-nli/runs --data build/dr

    All entries of a store: shiftbench study score-forecasts --store store --data build/dr --data build/boss
    """
    if not predictions and store is None:
        raise typer.BadParameter("give --predictions, --store, or both")
    if forecasts is not None and (len(predictions or ()) != 1 or store is not None):
        raise typer.BadParameter(
            "your own forecasts are for a single prediction file: give one --predictions and no --store"
        )
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.checking.forecast_entries import forecast_entrants, read_files, read_store
    from shiftbench.leaderboard.store import open_store
    from shiftbench.scoring.forecasting.comparison import compare_methods
    from shiftbench.scoring.forecasting.methods import chosen_methods
    from shiftbench.scoring.forecasting.own_forecasts import add_own_forecasts
    from shiftbench.scoring.reports.forecast import method_comparison_lines
    from shiftbench.scoring.reports.plain_tables import report as report_page

    chosen = chosen_methods(method)
    folders = [DatasetFolder.open(path) for path in data]
    for folder in folders:
        folder.refuse_withheld()
    entrants, left_out = read_store(open_store(store), folders) if store else ([], [])
    entrants += read_files(predictions or [], folders)
    found, more = forecast_entrants(entrants, chosen)
    levels = {}
    if forecasts is not None:
        levels[forecasts.stem] = level
        found = add_own_forecasts(found, forecasts)
    compared = compare_methods(found, [*left_out, *more], levels)
    lines = list(method_comparison_lines(compared))
    if json_ != "-":
        show(lines)
    title = "Forecasts compared with true accuracy"
    write_report(report, lambda: report_page(title, lines, "shiftbench study score-forecasts"))
    write_json(compared.model_dump(mode="json"), json_)


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[ROW]", help="A table or figure: 'dr/table4', 'boss/figure2'. Default: list all."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Dataset folder. Default: build/BENCHMARK.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for a grid's results. Default: build/reproduce/ROW."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Run nothing; print the steps, their cost, and which results are available."),
    ] = False,
    gpu: GpuOption = None,
    json_: JsonOption = None,
) -> None:
    """Reproduce a table or figure of a paper.

    Example: shiftbench study reproduce dr/table5 --dry-run --gpu H100

    Finished trials are not run again, so the same command resumes after an interruption.
    """
    from shiftbench.baselines.results.papers import STATES, find_row, state_counts, state_rows
    from shiftbench.checking.reproduce import (
        planned,
        refuse_uncomputable,
        run_row,
        steps_of,
        stored_comparison,
        table_of,
    )
    from shiftbench.cli.help import imported_command
    from shiftbench.scoring.reports.plain_tables import PlainTable

    if name is None:
        head, *rows = state_rows()
        counts = {STATES[state]: n for state, n in state_counts().items()}
        line = ", ".join(f"{n} {state}" for state, n in counts.items())
        print_results([PlainTable("Tables and figures of the papers", head, rows, texts=head), line], counts, json_)
        return
    if gpu is not None and not dry_run:
        raise typer.BadParameter("--gpu needs --dry-run: results are computed on this machine")
    row = find_row(name)
    data, out = data or Path("build", row.benchmark), out or Path("build/reproduce", row.id)
    # With --json -, standard output is for JSON only.
    show([f"{row.name}: {row.title}", f"{STATES[row.state]}: {row.why}"], stderr=json_ == "-")
    steps, kept = steps_of(row, data, out), stored_comparison(row)
    content: dict[str, Any] = {"row": row.id, "state": row.state, "why": row.why, "steps": steps}
    if not dry_run:
        refuse_uncomputable(row)
        train: Any = imported_command("train", "shiftbench.cli.train")
        kept = [*kept, *run_row(row, train, data, out)]
    elif row.grid is not None:
        from shiftbench.baselines.grid.estimate import estimate_lines, estimate_on_gpu
        from shiftbench.baselines.grid.progress import not_done

        train = imported_command("train", "shiftbench.cli.train")
        trials, rows_of = planned(row, train, data)
        estimates = estimate_on_gpu(trials, not_done(trials, out / "runs"), rows_of, train, gpu or "H100")
        content["trials"] = len(trials)
        if json_ != "-":
            show(estimate_lines(estimates, 1, gpu or "H100"))
    beside = table_of(kept)
    parts: list[Any] = [*(["steps:", *(f"  {step}" for step in steps)] if steps and dry_run else [])]
    parts += (
        [PlainTable("Our values and the paper's", beside[0], beside[1:], n_names=2, texts=beside[0])] if kept else []
    )
    print_results(parts, {**content, "beside": [each._asdict() for each in kept]}, json_)


group = group_of(
    "Draw the papers' figures, verify claims, choose data sets.",
    {
        "protocol": protocol,
        "analyse": analyse,
        "score-forecasts": score_forecasts,
        "verify": verify,
        "artifact": artifact,
        "reproduce": reproduce,
    },
)
