"""The front door: the ``shiftbench`` command, and the names that a notebook imports.

    from shiftbench import DatasetFolder, score_file
    scores = score_file(Path("preds.parquet"), DatasetFolder.open("build/dr"))

Everything heavier than typer is imported inside the commands, so that ``--help`` answers at once.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from rich.console import Console

    from builders.encoder import Encoder
    from builders.folder import DatasetFolder
    from leaderboard.scoring import score_file

__all__ = ["DatasetFolder", "main", "score_file"]

_LAZY = {"DatasetFolder": "builders.folder", "score_file": "leaderboard.scoring"}
PROGRAMS = ("majority", "sbert-lr", "tfidf-lr")
"""Baseline programs, each a module of ``baselines`` with the same name."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'shiftbench' has no attribute {name!r}")


_PLAIN: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}


class _Programs(TyperGroup):
    """The baseline programs as sub-commands of ``train``; a program is imported only when it is run."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(PROGRAMS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in PROGRAMS:
            return None
        program = importlib.import_module(f"baselines.{cmd_name.replace('-', '_')}")
        command = typer.Typer(**_PLAIN)
        command.command(cmd_name)(program.main)
        return typer.main.get_command(command)


app = typer.Typer(
    help="Measure how NLP models lose accuracy when the text changes domain.", no_args_is_help=True, **_PLAIN
)
app.add_typer(
    typer.Typer(
        cls=_Programs,
        help="Train a baseline on every source domain and predict every target.\n\n"
        "Example: shiftbench train sbert-lr nli --data build/dr --out preds.parquet",
        no_args_is_help=True,
    ),
    name="train",
)

DataOption = Annotated[
    Path, typer.Option("--data", metavar="DIR", help="Dataset folder that 'shiftbench build' wrote.")
]


def _writable(where: str | None) -> str | None:
    """Refuse a place for JSON that cannot be written, before the work."""
    if where not in (None, "-"):
        from validation.report import InvalidInput, Problem

        path = Path(where)
        if path.is_dir():
            raise InvalidInput(Problem("this is a folder", "--json", where, "name a file"))
        if not path.parent.is_dir():
            raise InvalidInput(Problem("there is no such folder", "--json", str(path.parent), "make it first"))
    return where


JsonOption = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write JSON to FILE; '-' is standard output.", callback=_writable),
]
SubsetOption = Annotated[
    str, typer.Option("--subset", metavar="NAME", help="Subset of test ids that the predictions cover.")
]
PredictionsArgument = Annotated[Path, typer.Argument(metavar="FILE", help="Prediction file: .parquet, .jsonl or .csv.")]
PortOption = Annotated[
    int, typer.Option("--port", metavar="N", help="Port to listen on; 0 takes any free one.", min=0, max=65535)
]


@app.command()
def build(
    benchmark: Annotated[
        str | None, typer.Argument(metavar="BENCHMARK", help="'dr', 'synthetic', or 'own' for your own CSV.")
    ] = None,
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="With 'dr': one task, such as 'nli'; default all. With 'own': its name."),
    ] = None,
    raw: Annotated[
        Path | None,
        typer.Option("--raw", metavar="DIR_OR_FILE", help="With 'dr': folder of upstream files; 'own': the CSV file."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Dataset folder to write.")] = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            metavar="N",
            help="Decides, with 'dr': which groups become validation, which rows fill a size, and the subset fewshot; "
            "'own': which groups go to which split; 'synthetic': also the texts.",
            min=0,
        ),
    ] = 0,
    partial: Annotated[
        bool, typer.Option("--partial", help="With 'dr': build what there is of an incomplete upstream.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a dataset that is already at --out.")] = False,
    no_depth: Annotated[bool, typer.Option("--no-depth", help="Leave depths out: needs no encoder.")] = False,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", help="Sentence encoder of the depths: Hub id or path."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List what upstream files build, one domain a line.")] = False,
    json_: JsonOption = None,
) -> None:
    """Build a dataset folder from upstream files, or from your own CSV.

    Example: shiftbench build dr nli --raw raw --out build/dr

    Own data: shiftbench build own tickets --raw tickets.csv --out build/tickets
    """
    from builders.build import build as build_benchmark
    from builders.build import known_benchmark, list_domains
    from builders.cache import check_cache
    from builders.own import build_own
    from builders.synthetic import build_synthetic

    if list_:
        typer.echo("\n".join(list_domains(benchmark)))
        return
    if benchmark is not None:
        known_benchmark(benchmark)
    if benchmark is None or out is None:
        raise typer.BadParameter("give a benchmark and --out, or --list")
    if no_depth and encoder is not None:
        raise typer.BadParameter("--encoder is for depths, which --no-depth leaves out")
    if benchmark == "synthetic":
        _refuse(benchmark, {"a task": task, "--raw": raw, "--partial": partial})
    elif benchmark == "own":
        _refuse(benchmark, {"--partial": partial})
    check_cache()
    depth_encoder = None if no_depth else _encoder(encoder)
    if benchmark == "synthetic":
        manifest = build_synthetic(out, seed=seed, overwrite=overwrite, encoder=depth_encoder)
    elif raw is None:
        raise typer.BadParameter("give --raw, the folder of upstream files ('own': the CSV file)")
    elif benchmark == "own":
        if task is None:
            raise typer.BadParameter("name your task: shiftbench build own NAME --raw FILE.csv --out DIR")
        manifest = build_own(task, raw, out, seed=seed, overwrite=overwrite, encoder=depth_encoder)
    else:
        manifest = build_benchmark(
            benchmark, task, raw, out, seed=seed, partial=partial, overwrite=overwrite, encoder=depth_encoder
        )
    rows = sum(
        facts.rows
        for info in manifest.tasks.values()
        for domain in info.domains.values()
        for facts in domain.splits.values()
    )
    absent = [f"{name}.{domain}" for name, info in manifest.tasks.items() for domain in info.absent_domains]
    typer.echo(
        f"wrote {out}: {rows:,} rows, content {manifest.content_hash[:12]}" + (", partial" if partial else ""), err=True
    )
    if absent:
        typer.echo(f"left out for want of rows: {', '.join(absent)}", err=True)
    _write_json(manifest.model_dump(mode="json"), json_)


@app.command()
def validate(
    path: Annotated[Path, typer.Argument(metavar="FILE_OR_DIR", help="A prediction file, or a dataset folder.")],
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Dataset folder that the predictions are for.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option("--card", metavar="FILE", help="Card to check with the predictions.")
    ] = None,
    subset: SubsetOption = "all",
    json_: JsonOption = None,
) -> None:
    """Check a prediction file (and its card), or a dataset folder; every problem is listed.

    Example: shiftbench validate preds.parquet --data build/dr --card preds.card.yaml
    """
    from builders.folder import DatasetFolder
    from leaderboard.scoring import checked_predictions
    from leaderboard.store import folder_of
    from validation.cards import read_card

    if path.is_dir():
        folder = DatasetFolder.open(path)
        folder.check()
        typer.echo(f"{path}: a sound dataset folder, content {folder.content_hash[:12]}", err=True)
        _write_json({"ok": True, "data": folder.content_hash}, json_)
        return
    if data is None:
        raise typer.BadParameter("give --data, the dataset folder that the predictions are for")
    folder = DatasetFolder.open(data)
    if card is not None:
        checked = read_card(card)
        folder_of(checked, [folder])
        subset = checked.subset
    frame = checked_predictions(path, folder, subset)
    runs = frame.select("task", "source", "target", "seed").n_unique()
    typer.echo(f"{path}: {len(frame):,} predictions of {runs} runs on targets, all sound", err=True)
    _write_json({"ok": True, "predictions": len(frame), "runs": runs}, json_)


@app.command()
def score(
    predictions: PredictionsArgument,
    data: DataOption,
    subset: SubsetOption = "all",
    reference: Annotated[
        Path | None,
        typer.Option("--reference", metavar="FILE", help="Prediction file whose TT stands in where this one has none."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", help="Encoder of BERTScore, for generated text: Hub id or path."),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Check and score a prediction file; figures stand with their 95% intervals where they have one.

    Example: shiftbench score preds.parquet --data build/dr --json scores.json
    """
    from builders.encoder import DEFAULT_ENCODER
    from builders.folder import DatasetFolder
    from leaderboard.scoring import score_file, token_encoder
    from leaderboard.tables import print_scores

    folder = DatasetFolder.open(data)
    tokens = token_encoder(folder, encoder or DEFAULT_ENCODER)
    scores = score_file(predictions, folder, subset, encoder=tokens, reference=reference)
    if json_ != "-":
        print_scores(scores, _console())
    _write_json(scores.model_dump(mode="json"), json_)


@app.command()
def submit(
    predictions: PredictionsArgument,
    card: Annotated[
        Path, typer.Option("--card", metavar="FILE", help="Card of the predictions; 'train' writes one beside them.")
    ],
    to: Annotated[str, typer.Option("--to", metavar="URL_OR_STORE", help="A leaderboard's URL, or a store folder.")],
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Dataset folder (with a store folder; default: where the card's data was built).",
        ),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Send a prediction file and its card to a leaderboard.

    Example: shiftbench submit preds.parquet --card preds.card.yaml --to http://127.0.0.1:7860
    """
    from builders.cache import recall_folder
    from builders.folder import DatasetFolder
    from leaderboard.client import is_url, submit_to_url
    from leaderboard.store import Store
    from validation.cards import read_card
    from validation.report import InvalidInput, Problem

    over_http = is_url(to)
    checked = read_card(card)
    if over_http:
        answer = submit_to_url(to, predictions, checked)
    else:
        known = recall_folder(checked.data)
        places = data or ([known] if known else [])
        if not places:
            cure = "give --data, the dataset folder that they were made on"
            raise InvalidInput(
                Problem(
                    "the data of these predictions is not known on this machine", str(card), checked.data[:12], cure
                )
            )
        entry, new = Store(to).submit(predictions, checked, [DatasetFolder.open(place) for place in places])
        answer = {"entry": entry.id, "new": new}
    where = f"at {to}" if over_http else f"in store {to}"
    said = f"accepted {where}" if answer["new"] else f"already {where}: the same file with the same card is one entry"
    typer.echo(f"entry {answer['entry']}: {said}", err=True)
    _write_json(answer, json_)


@app.command()
def serve(
    data: Annotated[
        list[Path], typer.Option("--data", metavar="DIR", help="Dataset folder; may be given several times.")
    ],
    store: Annotated[
        Path, typer.Option("--store", metavar="DIR", help="Folder of entries; made when it is not there.")
    ],
    port: PortOption = 7860,
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Address to listen on; the default is this machine only.")
    ] = "127.0.0.1",
) -> None:
    """Show the leaderboard in a browser; Ctrl-C stops.

    Example: shiftbench serve --data build/dr --store store --port 7860
    """
    _require("gradio", "app")
    from builders.folder import DatasetFolder
    from leaderboard.app import serve as serve_page
    from leaderboard.store import Store

    serve_page([DatasetFolder.open(folder) for folder in data], Store(store), host=host, port=port)


@app.command()
def publish(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Dataset folder.")],
    repo_id: Annotated[str, typer.Option("--repo-id", metavar="ORG/NAME", help="Dataset repository on the Hub.")],
    revision: Annotated[str, typer.Option("--revision", metavar="BRANCH", help="Branch to publish to.")] = "main",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be sent, send nothing.")] = False,
    json_: JsonOption = None,
) -> None:
    """Publish a dataset folder to the Hugging Face Hub in one commit; nothing is sent when nothing changed.

    Example: shiftbench publish build/dr --repo-id ORG/domain-robustness --dry-run
    """
    from huggingface_hub import HfApi

    from builders.folder import DatasetFolder
    from builders.publish import plan
    from builders.publish import publish as publish_plan

    opened, api = DatasetFolder.open(folder), HfApi()
    made = plan(opened, repo_id, revision, api)
    if not made.changes:
        typer.echo(f"{repo_id} already holds this content; nothing to send", err=True)
    for path, size in made.add.items():
        typer.echo(f"add {path} ({size:,} bytes)", err=True)
    for path in made.delete:
        typer.echo(f"delete {path}", err=True)
    url = None if dry_run else publish_plan(opened, made, api)
    if url:
        typer.echo(f"published: {url}", err=True)
    _write_json({"repo_id": repo_id, "add": made.add, "delete": list(made.delete), "commit": url}, json_)


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(metavar="FILE_A", help="Prediction file of entry A.")],
    b: Annotated[Path, typer.Argument(metavar="FILE_B", help="Prediction file of entry B.")],
    data: DataOption,
    subset: SubsetOption = "all",
    swaps: Annotated[int, typer.Option("--swaps", metavar="N", help="Random swaps a shift.", min=1000)] = 100_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the swaps.", min=0)] = 0,
    json_: JsonOption = None,
) -> None:
    """Test whether two prediction files differ, on every shift that both have.

    Example: shiftbench compare sbert.parquet tfidf.parquet --data build/dr
    """
    from builders.folder import DatasetFolder
    from leaderboard.compare import compare_files
    from leaderboard.scoring import token_encoder
    from leaderboard.tables import print_comparison

    folder = DatasetFolder.open(data)
    comparison = compare_files(a, b, folder, subset, encoder=token_encoder(folder), n_swaps=swaps, seed=seed)
    if json_ != "-":
        print_comparison(comparison, _console())
    _write_json(comparison.model_dump(mode="json"), json_)


@app.command()
def bench(
    scale: Annotated[
        float,
        typer.Option(
            "--scale",
            metavar="X",
            help="Test sizes as a share of the paper's; targets are judged at 1 alone.",
            min=0.01,
        ),
    ] = 1.0,
    json_: JsonOption = None,
) -> None:
    """Time depths and scoring beside yardsticks, all in this run; needs the extra 'dev'.

    Example: shiftbench bench
    """
    from dataclasses import asdict

    from leaderboard.bench import peak_memory, run_bench
    from leaderboard.tables import print_timing

    timings = []
    for timing in run_bench(scale):
        timings.append(timing)
        if json_ != "-":
            print_timing(timing, _console())
    typer.echo(f"peak memory {peak_memory() / 2**20:,.0f} MiB", err=True)
    _write_json({"timings": [asdict(timing) for timing in timings], "peak_memory": peak_memory()}, json_)


@app.command()
def coverage(
    tasks: Annotated[int, typer.Option("--tasks", metavar="N", help="Simulated tasks of each kind.", min=1)] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the simulation.", min=0)] = 1,
    json_: JsonOption = None,
) -> None:
    """Simulate how often 95% intervals hold the known truth: test-sampling, total, worst drops, scenarios.

    Example: shiftbench coverage --tasks 2000
    """
    from leaderboard.coverage_report import measure_coverage
    from leaderboard.tables import print_coverage

    found = measure_coverage(tasks, seed)
    if json_ != "-":
        print_coverage(found, tasks, _console())
    _write_json({"tasks": tasks, "seed": seed, "coverage": found}, json_)


@app.command()
def demo(
    raw: Annotated[
        Path | None,
        typer.Option("--raw", metavar="DIR", help="Folder of upstream files. Default: a synthetic corpus."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for data, predictions and store.")] = Path(
        "build/demo"
    ),
    port: PortOption = 7860,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Stop when the scores are stored.")] = False,
) -> None:
    """Build, train, score and show: everything once, on real rows (--raw) or on synthetic ones.

    Example: shiftbench demo
    """
    from builders.build import build as build_benchmark
    from builders.cache import check_cache
    from builders.folder import DatasetFolder
    from builders.synthetic import build_synthetic
    from leaderboard.store import Store
    from leaderboard.tables import print_board
    from validation.cards import read_card

    check_cache()
    if not no_serve:
        _require("gradio", "app")
        from leaderboard.app import usable_port

        port = usable_port("127.0.0.1", port)
    data = out / ("dr" if raw else "synthetic")
    typer.echo(f"1/4 building {data} from {raw or 'generated texts (synthetic: no --raw given)'}", err=True)
    if raw:
        build_benchmark("dr", "nli", raw, data, partial=True, overwrite=True, encoder=_encoder(None))
    else:
        build_synthetic(data, overwrite=True, encoder=_encoder(None))
    folder = DatasetFolder.open(data)
    store = Store(out / f"store-{data.name}")
    results = []
    for number, task in enumerate(folder.manifest.tasks, start=1):
        for program in PROGRAMS:
            typer.echo(f"2/4 training {program} on task {task} ({number} of {len(folder.manifest.tasks)})", err=True)
            predictions = out / f"{data.name}-{task}-{program}.parquet"
            _run(["train", program, task, "--data", str(data), "--out", str(predictions)])
            card = read_card(predictions.with_suffix(".card.yaml"))
            entry, _ = store.submit(predictions, card, [folder])
            results.append((entry.card.name, store.scores(entry, folder)))
    typer.echo(f"3/4 checked, scored and stored {len(results)} entries in {store.root}", err=True)
    print_board(results, _console())
    if no_serve:
        return
    typer.echo("4/4 showing them in a page; Ctrl-C stops", err=True)
    serve([data], store.root, port)


def _refuse(benchmark: str, options: dict[str, Any]) -> None:
    """Refuse what was given but would be left unread."""
    given = [name for name, value in options.items() if value]
    if given:
        raise typer.BadParameter(f"these do not apply to '{benchmark}': {', '.join(given)}")


def _run(arguments: list[str]) -> None:
    """Run a command as if it had been typed, because cards record what was."""
    typed = sys.argv
    sys.argv = [typed[0], *arguments]
    try:
        typer.main.get_command(app).main(arguments, standalone_mode=False)
    finally:
        sys.argv = typed


def _console() -> "Console":
    """Open standard output for tables; a pipe has no width of its own and gets 120 columns."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 120)


def _require(module: str, extra: str) -> None:
    """Refuse to go on without a package that only an extra brings."""
    from importlib.util import find_spec

    from validation.report import InvalidInput, Problem

    if find_spec(module) is None:
        cure = f"pip install 'shiftbench[{extra}]'"
        raise InvalidInput(Problem("this needs a package that is not installed", module, cure=cure))


def _encoder(name: str | None) -> "Encoder":
    from builders.encoder import DEFAULT_ENCODER, Encoder

    return Encoder(name or DEFAULT_ENCODER)


def _write_json(content: Any, where: str | None) -> None:
    """Write JSON to a file or, for '-', to standard output."""
    if where is None:
        return
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    if where == "-":
        typer.echo(text)
    else:
        Path(where).write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Run the command. Exit code 0: done; 1: refused input; 2: wrong usage; 130: stopped by Ctrl-C."""
    import sqlite3

    from validation.report import InvalidInput

    try:
        app(standalone_mode=True)
    except SystemExit as end:
        if end.code == 130:
            typer.echo("stopped; what was not finished was not written", err=True)
        raise
    except InvalidInput as refused:
        for problem in refused.problems:
            typer.echo(f"error: {problem}", err=True)
        sys.exit(1)
    except OSError as failed:
        named = f"{failed.filename}: " if failed.filename else ""
        typer.echo(f"error: {named}{failed.strerror or failed}", err=True)
        sys.exit(1)
    except sqlite3.OperationalError as failed:
        from builders.cache import cache_folder

        typer.echo(f"error: {cache_folder()}: {failed}; free it, or set SHIFTBENCH_CACHE to another folder", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
