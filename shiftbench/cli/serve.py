"""The command ``serve``. Everything heavier than typer is imported inside it."""

import gc
from pathlib import Path

from shiftbench.cli.data_options import (
    DataFoldersOption,
    HostOption,
    ProxiesOption,
    QuotaOption,
    RootPathOption,
    SignInOption,
    StoreOption,
)
from shiftbench.validation.command_line import (
    PortOption,
    require,
)


def serve(
    data: DataFoldersOption,
    store: StoreOption,
    port: PortOption = 7860,
    host: HostOption = "127.0.0.1",
    sign_in: SignInOption = False,
    quota: QuotaOption = None,
    proxy: ProxiesOption = None,
    root_path: RootPathOption = "",
) -> None:
    """Serve the leaderboard as a web page on this machine.

    Ctrl-C stops it.

    Example: shiftbench serve --data build/dr --store store --port 7860
    """
    require("gradio", "app")
    # The garbage collector would search hundreds of imported modules in vain, which takes a sixth of the start.
    gc.disable()
    try:
        _serve(data, store, host, port, sign_in=sign_in, quota=quota, proxies=proxy or [], root_path=root_path)
    finally:
        gc.enable()


def _serve(
    data: list[Path],
    store: str,
    host: str,
    port: int,
    *,
    sign_in: bool,
    quota: int | None,
    proxies: list[str],
    root_path: str,
) -> None:
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.app.identity import checked_networks
    from shiftbench.leaderboard.app.server import ServerSettings
    from shiftbench.leaderboard.app.server import serve as serve_page
    from shiftbench.leaderboard.app.sub_path import checked_root_path
    from shiftbench.leaderboard.store import open_store

    settings = ServerSettings(
        sign_in=sign_in,
        daily_quota=quota,
        proxies=checked_networks(proxies),
        root_path=checked_root_path(root_path),
    )
    folders = [DatasetFolder.open(folder) for folder in data]
    for folder in folders:
        folder.refuse_withheld()
    serve_page(folders, open_store(store), host=host, port=port, settings=settings)
