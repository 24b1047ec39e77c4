"""The commands that submit entries to a leaderboard, and that run one. Heavy libraries are imported inside them."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from shiftbench.cli.data_options import (
    AnyTokenOption,
    BertScoreOption,
    CardOption,
    DataFoldersOption,
    EntryArgument,
    EntryDataOption,
    EveryEntryOption,
    FromArchiveOption,
    HostOption,
    HubStoreOption,
    PrivateSpaceOption,
    ProxiesOption,
    PublishedDataOption,
    QuotaOption,
    SignInOption,
    SpaceArgument,
    SpaceDryRunOption,
    SpaceQuotaOption,
    StoreOption,
    TitleOption,
    ToOption,
    ValidationRowsOption,
)
from shiftbench.validation.command_line import (
    JsonOption,
    LabelsByIndexOption,
    PortOption,
    PredictionsArgument,
    answer,
    require,
    write_json,
)

if TYPE_CHECKING:
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.store import Store


def submit(
    predictions: PredictionsArgument,
    to: ToOption,
    card: CardOption = None,
    data: EntryDataOption = None,
    any_token: AnyTokenOption = False,
    labels_by_index: LabelsByIndexOption = False,
    validation: ValidationRowsOption = None,
    json_: JsonOption = None,
) -> None:
    """Submit a prediction file and its card to a leaderboard.

    A leaderboard with sign-in knows you by your Hugging Face token (HF_TOKEN, or 'hf auth login').

    Example: shiftbench submit preds.parquet --to http://127.0.0.1:7860
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.app.client import is_url, send
    from shiftbench.leaderboard.pages.submit_page import answer_lines
    from shiftbench.validation.cards import find_card, read_card
    from shiftbench.validation.prediction_files import PredictionInput

    over_http = is_url(to)  # before the card is read
    folders = [] if over_http else [DatasetFolder.open(place) for place in data or ()]
    given, checked = PredictionInput(predictions, labels_by_index), read_card(card or find_card(predictions))
    sent = send(given, checked, to, folders, any_token=any_token, validation=validation)
    where = f"at {to}" if over_http else f"in store {to}"
    said = f"accepted {where}" if sent["new"] else f"already {where}: the same file with the same card is one entry"
    typer.echo(f"entry {sent['entry']}: {said}", err=True)
    for line in answer_lines(sent, to, over_http=over_http):
        typer.echo(line, err=True)
    write_json(sent, json_)


def withdraw(entry: EntryArgument, to: ToOption, any_token: AnyTokenOption = False) -> None:
    """Withdraw an entry of yours.

    It leaves the boards; the host of the leaderboard still has its files.

    Example: shiftbench board withdraw 0123456789abcdef --to http://127.0.0.1:7860
    """
    from shiftbench.leaderboard.app.client import is_url, withdraw_at_url
    from shiftbench.leaderboard.store import LOCAL_SUBMITTER, open_store

    if is_url(to):
        withdraw_at_url(to, entry, any_token=any_token)
    else:
        open_store(to).withdraw(entry, LOCAL_SUBMITTER)
    typer.echo(f"entry {entry} is withdrawn", err=True)


def serve(
    data: DataFoldersOption,
    store: StoreOption,
    port: PortOption = 7860,
    host: HostOption = "127.0.0.1",
    sign_in: SignInOption = False,
    quota: QuotaOption = None,
    proxy: ProxiesOption = None,
) -> None:
    """Serve the leaderboard as a web page on this machine.

    Ctrl-C stops it.

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
    from shiftbench.leaderboard.app.identity import checked_networks
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
    archive: FromArchiveOption = None,
    every: EveryEntryOption = False,
    json_: JsonOption = None,
) -> None:
    """Score a store's entries again, and show how ranks moved.

    Ranks are compared with those of the newest other metric version.

    Example: shiftbench board rescore --store store --data build/dr
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.store import open_store
    from shiftbench.leaderboard.store.rescore import rescore as rescore_store
    from shiftbench.leaderboard.store.rescore import rescored_lines

    folders = [DatasetFolder.open(folder) for folder in data]
    for folder in folders:
        folder.refuse_withheld()
    opened = open_store(store, must_exist=archive is None)
    if archive is not None:
        _fill(opened, archive, folders)
    rescored = rescore_store(opened, folders, every=every)
    answer(rescored_lines(rescored), rescored.as_dict(), json_)


def _fill(store: "Store", archive: Path, folders: "list[DatasetFolder]") -> None:
    from shiftbench.leaderboard.archive.open_archive import fill_store
    from shiftbench.validation.report import InvalidInput, Problem

    n_filled, failed = fill_store(store, archive, folders)
    if failed and not n_filled:
        what, cure = "no entry of the archive can be read", "fetch the archive again"
        raise InvalidInput(Problem(what, str(archive), next(iter(failed.values())), cure))
    typer.echo(f"{archive}: {n_filled:,} of its entries are in the store", err=True)
    for identity, reason in failed.items():
        typer.echo(f"left out {identity}: {reason}", err=True)


def publish_space(
    repo_id: SpaceArgument,
    data: PublishedDataOption,
    store: HubStoreOption,
    title: TitleOption = "shiftbench leaderboard",
    quota: SpaceQuotaOption = 10,
    bert_score: BertScoreOption = False,
    private: PrivateSpaceOption = False,
    dry_run: SpaceDryRunOption = False,
    json_: JsonOption = None,
) -> None:
    """Create or update a leaderboard's Space on the Hub.

    It is one commit. The Space needs a secret HF_TOKEN that may write to the entries' repository.

    Example: shiftbench board publish-space ORG/leaderboard --data ORG/domain-robustness --store ORG/entries --dry-run
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
