"""The commands ``serve`` and ``board config``. Imports other than typer are inside the functions."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.validation.command_line import require

if TYPE_CHECKING:
    from shiftbench.leaderboard.app.config import BoardConfig

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The leaderboard's configuration; 'board config' prints one."),
]
ServedDataOption = Annotated[
    list[Path] | None,
    typer.Option("--data", metavar="DIR", help="Dataset folder; may be repeated. Default: set in the configuration."),
]
ServedStoreOption = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="PLACE", help="Folder, or hf://datasets/ORG/NAME. Default: set in the configuration."
    ),
]
ServedHostOption = Annotated[
    str | None, typer.Option("--host", metavar="HOST", help="Address to listen on. Default: 127.0.0.1.")
]
ServedPortOption = Annotated[
    int | None, typer.Option("--port", metavar="N", help="Port to listen on; 0 chooses a free port.", min=0, max=65535)
]


def serve(
    config: ConfigOption = None,
    data: ServedDataOption = None,
    store: ServedStoreOption = None,
    host: ServedHostOption = None,
    port: ServedPortOption = None,
) -> None:
    """Serve the leaderboard as a web page on this machine.

    Ctrl-C stops it. Sign-in, quotas, proxies, hosts and limits are in the configuration.

    Example: shiftbench serve --data build/dr --store store --port 7860
    """
    require("gradio", "app")
    # During start-up, garbage collection frees nothing but scans all imported modules, for a sixth of the time.
    gc.disable()
    try:
        found = _effective(config, data, store, host, port)
        from shiftbench.leaderboard.app.server import serve_board

        serve_board(found)
    finally:
        gc.enable()


def configured(file: Path | None) -> "BoardConfig":
    """Read a leaderboard's configuration; without a file, return the defaults.

    Args:
        file: a TOML file, or None.
    Raises: InvalidInput listing every problem in the file.
    """
    require("gradio", "app")
    from shiftbench.leaderboard.app.config import BoardConfig, read_config

    return read_config(file) if file else BoardConfig()


def _effective(
    file: Path | None, data: list[Path] | None, store: str | None, host: str | None, port: int | None
) -> "BoardConfig":
    """Return the configuration, overridden by the given options."""
    config = configured(file)
    listening = {"host": host, "port": port}
    typed = {"data": [str(folder) for folder in data] if data else None, "store": store}
    server = config.server.model_copy(update={key: each for key, each in listening.items() if each is not None})
    config = config.model_copy(update={"server": server, **{key: each for key, each in typed.items() if each}})
    for name in ("data", "store"):
        if not getattr(config, name):
            raise typer.BadParameter(f"give --{name}, or '{name}' in --config")
    return config


def config(file: ConfigOption = None) -> None:
    """Print every setting and limit of a leaderboard.

    Each is printed with its default. Without a file, the defaults are printed, as a file to start from. If the file has
    problems, all of them are listed.

    Example: shiftbench board config --config board.toml
    """
    found = configured(file)
    from shiftbench.leaderboard.app.config import config_lines

    for line in config_lines(found):
        typer.echo(line)
