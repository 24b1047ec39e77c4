"""The commands that submit entries to a leaderboard, and that run one. Heavy libraries are imported inside them."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.cli.data_options import DataFoldersOption, StoreOption
from shiftbench.validation.command_line import (
    JsonOption,
    LabelsByIndexOption,
    PortOption,
    PredictionsArgument,
    console,
    require,
    write_json,
)

if TYPE_CHECKING:
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.store import Store


def submit(
    predictions: PredictionsArgument,
    card: Annotated[
        Path, typer.Option("--card", metavar="FILE", help="Card of the predictions; 'train' writes one beside them.")
    ],
    to: Annotated[
        str,
        typer.Option("--to", metavar="URL_OR_STORE", help="A leaderboard's URL, a store folder, or hf://datasets/..."),
    ],
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", metavar="DIR", help="Dataset folder (with a store; default: where it was built)."),
    ] = None,
    any_token: Annotated[
        bool, typer.Option("--any-token", help="Send the saved Hugging Face token even if it may write.")
    ] = False,
    labels_by_index: LabelsByIndexOption = False,
    validation: Annotated[
        Path | None,
        typer.Option(
            "--validation", metavar="FILE", help="What the same models predicted on validation rows: for forecasts."
        ),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Submit a prediction file and its card to a leaderboard.

    A leaderboard with sign-in knows you by your Hugging Face token (HF_TOKEN, or 'hf auth login').

    Example: shiftbench submit preds.parquet --card preds.card.yaml --to http://127.0.0.1:7860
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.app.client import is_url, send
    from shiftbench.leaderboard.pages.answer import answer_lines
    from shiftbench.validation.cards import read_card
    from shiftbench.validation.prediction_files import PredictionInput

    over_http = is_url(to)  # before the card is read
    folders = [] if over_http else [DatasetFolder.open(place) for place in data or ()]
    answer = send(
        PredictionInput(predictions, labels_by_index),
        read_card(card),
        to,
        folders,
        any_token=any_token,
        validation=validation,
    )
    where = f"at {to}" if over_http else f"in store {to}"
    said = f"accepted {where}" if answer["new"] else f"already {where}: the same file with the same card is one entry"
    typer.echo(f"entry {answer['entry']}: {said}", err=True)
    for line in answer_lines(answer, to, over_http=over_http):
        typer.echo(line, err=True)
    write_json(answer, json_)


def withdraw(
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="The entry's id.")],
    to: Annotated[
        str, typer.Option("--to", metavar="URL_OR_STORE", help="The leaderboard's URL, or the store that it is in.")
    ],
    any_token: Annotated[
        bool, typer.Option("--any-token", help="Send the saved Hugging Face token even if it may write.")
    ] = False,
) -> None:
    """Withdraw an entry of yours. It leaves the boards; the host of the leaderboard still has its files.

    Example: shiftbench withdraw 0123456789abcdef --to http://127.0.0.1:7860
    """
    from shiftbench.leaderboard.app.client import is_url, withdraw_at_url
    from shiftbench.leaderboard.store import LOCAL_SUBMITTER, open_store

    if is_url(to):
        withdraw_at_url(to, entry, any_token=any_token)
    else:
        open_store(to).withdraw(entry, LOCAL_SUBMITTER)
    typer.echo(f"entry {entry} is withdrawn", err=True)


def serve(
    data: Annotated[
        list[Path], typer.Option("--data", metavar="DIR", help="Dataset folder; may be given several times.")
    ],
    store: StoreOption,
    port: PortOption = 7860,
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Address to listen on; the default is this machine only.")
    ] = "127.0.0.1",
    sign_in: Annotated[
        bool,
        typer.Option("--sign-in", help="Submitters sign in with Hugging Face; without, only this machine submits."),
    ] = False,
    quota: Annotated[
        int | None,
        typer.Option(
            "--quota", metavar="N", help="Entries a submitter may send a day (UTC); needed on withheld labels.", min=1
        ),
    ] = None,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            "--proxy",
            metavar="ADDRESS",
            help="Address or network of a reverse proxy in front, whose X-Forwarded-For is believed; may be given "
            "several times.",
        ),
    ] = None,
) -> None:
    """Serve the leaderboard as a web page on this machine. Ctrl-C stops it.

    Example: shiftbench serve --data build/dr --store store --port 7860
    """
    require("gradio", "app")
    # The garbage collector would search hundreds of imported modules in vain, which takes a sixth of the start.
    gc.disable()
    try:
        _serve(data, store, host, port, sign_in=sign_in, quota=quota, proxies=proxy or [])
    finally:
        gc.enable()


def _serve(
    data: list[Path], store: str, host: str, port: int, *, sign_in: bool, quota: int | None, proxies: list[str]
) -> None:
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.app.callers import checked_networks
    from shiftbench.leaderboard.app.server import ServerSettings
    from shiftbench.leaderboard.app.server import serve as serve_page
    from shiftbench.leaderboard.store import open_store

    settings = ServerSettings(sign_in=sign_in, daily_quota=quota, proxies=checked_networks(proxies))
    folders = [DatasetFolder.open(folder) for folder in data]
    for folder in folders:
        folder.refuse_withheld()
    serve_page(folders, open_store(store), host=host, port=port, settings=settings)


def rescore(
    store: StoreOption,
    data: DataFoldersOption,
    archive: Annotated[
        Path | None,
        typer.Option("--from-archive", metavar="DIR", help="First fill a new store with the entries of an archive."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also score entries that have scores of this metric version.")
    ] = False,
    json_: JsonOption = None,
) -> None:
    """Score the entries of a store again, and show how ranks differ from the previous metric version.

    Example: shiftbench rescore --store store --data build/dr
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.store import open_store
    from shiftbench.leaderboard.store.rescore import rescore as rescore_store
    from shiftbench.leaderboard.store.rescored_table import print_rescored
    from shiftbench.validation.report import InvalidInput, Problem

    folders = [DatasetFolder.open(folder) for folder in data]
    for folder in folders:
        folder.refuse_withheld()
    opened = open_store(store)
    if archive is not None:
        _fill(opened, archive, folders)
    if not opened.root.is_dir():
        raise InvalidInput(
            Problem("there is no such store", store, cure="give the folder of 'shiftbench serve --store'")
        )
    rescored = rescore_store(opened, folders, every=every)
    if json_ != "-":
        print_rescored(rescored, console())
    write_json(rescored.as_dict(), json_)


def _fill(store: "Store", archive: Path, folders: "list[DatasetFolder]") -> None:
    from shiftbench.leaderboard.archive.from_archive import fill_store
    from shiftbench.validation.report import InvalidInput, Problem

    n_filled, failed = fill_store(store, archive, folders)
    if failed and not n_filled:
        what, cure = "no entry of the archive can be read", "fetch the archive again"
        raise InvalidInput(Problem(what, str(archive), next(iter(failed.values())), cure))
    typer.echo(f"{archive}: {n_filled:,} of its entries are in the store", err=True)
    for identity, reason in failed.items():
        typer.echo(f"left out {identity}: {reason}", err=True)


def publish_space(
    repo_id: Annotated[str, typer.Argument(metavar="ORG/NAME", help="The Space.")],
    data: Annotated[
        list[str],
        typer.Option("--data", metavar="ORG/NAME", help="Published dataset; may be given several times."),
    ],
    store: Annotated[str, typer.Option("--store", metavar="ORG/NAME", help="Dataset repository of the entries.")],
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="The Space's title.")
    ] = "shiftbench leaderboard",
    quota: Annotated[int, typer.Option("--quota", metavar="N", help="Entries a submitter may send a day.", min=1)] = 10,
    bert_score: Annotated[
        bool, typer.Option("--bert-score", help="Score generated text, too: the Space installs PyTorch.")
    ] = False,
    private: Annotated[bool, typer.Option("--private", help="Only the organisation sees the Space.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the Space's files, send nothing.")] = False,
    json_: JsonOption = None,
) -> None:
    """Create or update the leaderboard's Space on the Hugging Face Hub, in one commit.

    The Space needs a secret HF_TOKEN that may write to the entries' repository.

    Example: shiftbench publish-space ORG/leaderboard --data ORG/domain-robustness --store ORG/entries --dry-run
    """
    from shiftbench.leaderboard.app.space import SpaceConfig, check_names, space_files
    from shiftbench.leaderboard.app.space import publish_space as create

    config = SpaceConfig(tuple(data), store, title, quota, bert_score)
    check_names(repo_id, config)
    files = space_files(config)
    size = sum(map(len, files.values()))
    if dry_run:
        for path, content in sorted(files.items()):
            typer.echo(f"{len(content):>9,}  {path}", err=True)
        typer.echo(f"{len(files)} files, {size:,} bytes; nothing was sent", err=True)
        write_json({"url": None, "files": sorted(files)}, json_)
        return
    url = create(repo_id, config, private=private)
    typer.echo(f"the Space is at {url}; give it the secret HF_TOKEN in its settings", err=True)
    write_json({"url": url, "files": sorted(files)}, json_)
