"""The leaderboard as a Hugging Face Space: its files, its creation, and its program.

The Space contains a copy of this installation's source, so both compute the same scores.
"""

import importlib
import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions, requires, version
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement

from shiftbench.builders.hub_access import reaching_hub, writing_to_hub
from shiftbench.validation.notices import notes_on_stderr
from shiftbench.validation.report import InvalidInput, Problem

ROOMS = ("validation", "metrics", "builders", "scoring", "leaderboard")
"""Packages required on the Space."""
_ROOMS_OF_0_2_0 = ("validation", "builders", "leaderboard")
"""Top-level packages of Spaces made by version 0.2.0 or earlier."""
_SOURCES = (".py", ".csv", ".json", ".toml", ".bib", ".css", ".html", ".js", ".pyi", ".txt")
PORT = 7860
"""The default port of a Space's application."""
PROXIES = ("10.0.0.0/8",)
"""Address range of Hugging Face's proxy, the only way to reach a Space."""
CONFIG = "board.toml"
"""The file with a leaderboard's configuration (``shiftbench.leaderboard.app.config``)."""

_PROGRAM = '''"""The leaderboard; made by ``shiftbench board publish-space``."""

from pathlib import Path

from shiftbench.leaderboard.app.space import run_space

run_space(Path(__file__).with_name("board.toml"))
'''
_BOARD = """# The leaderboard's configuration; 'shiftbench board config' prints all settings.
data = {data}
store = {store}

[submissions]
sign_in = true
quota = 10
"""
_STORE = "hf://datasets/"


@dataclass(frozen=True)
class SpaceConfig:
    """Settings of a Space.

    Attributes:
        board: its ``board.toml``. ``data`` are dataset repositories, published with ``shiftbench data publish``;
            private ones with the gold of withheld labels are read with the Space's secret ``HF_TOKEN``, which must have
            write access to the ``store``, ``hf://datasets/ORG/NAME``.
        bert_score: whether to score generated text as well, which installs PyTorch.
    """

    board: str
    bert_score: bool = False

    @property
    def data(self) -> list[str]:
        """Return the dataset repositories."""
        return [str(each) for each in self._table.get("data", [])]

    @property
    def store(self) -> str:
        """Return the name of the repository of the entries."""
        return str(self._table.get("store", "")).removeprefix(_STORE)

    @property
    def title(self) -> str:
        """Return the Space's title."""
        return str(self._table.get("title") or "shiftbench leaderboard")

    @property
    def _table(self) -> Mapping[str, Any]:
        return tomllib.loads(self.board)


def new_board(data: Sequence[str], store: str) -> str:
    """Return the ``board.toml`` of a new Space.

    Args:
        data: dataset repositories on the Hub, ORG/NAME.
        store: repository of the entries, as ``hf://datasets/ORG/NAME`` or ORG/NAME.
    """
    place = store if "://" in store else f"{_STORE}{store}"
    return _BOARD.format(data=json.dumps(list(data)), store=json.dumps(place))


def space_files(config: SpaceConfig) -> dict[str, bytes]:
    """Build the files of a Space: its card, program, configuration, requirements, and the required packages' source."""
    return {
        "README.md": _readme(config).encode(),
        "app.py": _PROGRAM.encode(),
        CONFIG: config.board.encode(),
        "requirements.txt": "".join(f"{line}\n" for line in requirements(bert_score=config.bert_score)).encode(),
        **dict(_sources()),
    }


def requirements(*, bert_score: bool) -> list[str]:
    """Return the Space's requirements (of the package and of its web application), pinned to the installed versions.

    A requirement that is not installed here (such as Gradio, on a machine that only publishes) is not pinned.
    """
    return sorted(map(_pinned, _needs(bert_score=bert_score)), key=str.casefold)


def _needs(*, bert_score: bool) -> list[Requirement]:
    extras = ("", "app", "encoder") if bert_score else ("", "app")
    needs = {need.name: need for need in map(Requirement, requires("shiftbench") or ())
             if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras)}  # fmt: skip
    return list(needs.values())


def _pinned(need: Requirement) -> str:
    extra = f"[{','.join(sorted(need.extras))}]" if need.extras else ""
    installed = _installed_version(need.name)
    return f"{need.name}{extra}{f'=={installed}' if installed else need.specifier}"


def _installed_version(name: str) -> str | None:
    distribution = next(iter(distributions(name=name)), None)
    return None if distribution is None else distribution.version.partition("+")[0]


def _gradio_version() -> str:
    """Return the installed version of Gradio, or else the oldest supported one."""
    (need,) = (need for need in _needs(bert_score=False) if need.name == "gradio")
    return _installed_version("gradio") or next(each.version for each in need.specifier if each.operator == ">=")


def published_board(repo_id: str) -> str | None:
    """Read the ``board.toml`` of an existing Space; None if there is none."""
    from huggingface_hub import HfApi

    api = HfApi()
    with reaching_hub(repo_id, "check the Space's name, and that HF_TOKEN may read it"):
        if not api.file_exists(repo_id, CONFIG, repo_type="space"):
            return None
        return Path(api.hf_hub_download(repo_id, CONFIG, repo_type="space")).read_text(encoding="utf-8")


def publish_space(repo_id: str, config: SpaceConfig, *, private: bool = False) -> str:
    """Create or update a Space in one commit; files of earlier versions that are no longer needed are removed.

    Args:
        repo_id: name of the Space, ORG/NAME.
        config: its settings.
        private: whether a new Space is private; an existing one stays as it is.
    Returns: its URL.
    Raises: InvalidInput if the Hub rejects the request.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    api = HfApi()
    with writing_to_hub(repo_id):
        url = api.create_repo(repo_id, repo_type="space", space_sdk="gradio", private=private, exist_ok=True)
        there = set(api.list_repo_files(repo_id, repo_type="space"))
        ours = ("shiftbench/", *(f"{room}/" for room in _ROOMS_OF_0_2_0))
        files = space_files(config)
        operations: list[Any] = [CommitOperationAdd(path, content) for path, content in sorted(files.items())]
        gone = sorted(path for path in there - set(files) if path.startswith(ours))
        operations += [CommitOperationDelete(path) for path in gone]
        api.create_commit(
            repo_id,
            operations,
            commit_message=f"shiftbench {version('shiftbench')}: the leaderboard of {', '.join(config.data)}",
            repo_type="space",
        )
    return str(url)


def run_space(file: Path) -> None:
    """Serve the leaderboard of a ``board.toml``; called by a Space's ``app.py``.

    On a Space submitters always sign in, and its address and proxy are Hugging Face's.
    """
    from shiftbench.leaderboard.app.config import read_config
    from shiftbench.leaderboard.app.server import serve_board

    config = read_config(file)
    server = {
        "host": os.environ.get("GRADIO_SERVER_NAME", "0.0.0.0"),
        "port": int(os.environ.get("GRADIO_SERVER_PORT", PORT)),
        "proxies": config.server.proxies or list(PROXIES),
    }
    tables = {
        "server": config.server.model_copy(update=server),
        "submissions": config.submissions.model_copy(update={"sign_in": True}),
    }
    with notes_on_stderr():
        serve_board(config.model_copy(update=tables))


def _readme(config: SpaceConfig) -> str:
    facts: Mapping[str, object] = {
        "title": config.title,
        "emoji": "📉",
        "colorFrom": "green",
        "colorTo": "gray",
        "sdk": "gradio",
        "sdk_version": _gradio_version(),
        "python_version": f"{sys.version_info.major}.{sys.version_info.minor}",
        "app_file": "app.py",
        "hf_oauth": True,
        "pinned": False,
        "license": "apache-2.0",
        "short_description": "How much accuracy NLP models lose under domain shift",
        "datasets": [*config.data, config.store],
    }
    head = yaml.safe_dump(dict(facts), sort_keys=False, allow_unicode=True)
    return (
        f"---\n{head}---\n\n# {config.title}\n\n"
        "Created by `shiftbench board publish-space`; run it again to update the Space. The secret `HF_TOKEN` needs "
        f"write access to [{config.store}](https://huggingface.co/datasets/{config.store}), where entries are stored.\n"
    )


def _sources() -> Iterator[tuple[str, bytes]]:
    front_door = Path(str(importlib.import_module("shiftbench").__file__))
    for name in ("__init__.py", "__init__.pyi", "version.py"):
        yield f"shiftbench/{name}", front_door.with_name(name).read_bytes()
    for room in ROOMS:
        home = Path(str(importlib.import_module(f"shiftbench.{room}").__file__)).parent
        for path in sorted(home.rglob("*")):
            if path.suffix in _SOURCES and "__pycache__" not in path.parts:
                yield f"shiftbench/{room}/{path.relative_to(home).as_posix()}", path.read_bytes()


def check_names(repo_id: str, config: SpaceConfig) -> None:
    """Raise InvalidInput with every invalid repository name: of the Space, the data and the entries."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    problems = []
    for name in (repo_id, *config.data, config.store):
        try:
            validate_repo_id(name)
            sound = "/" in name
        except HFValidationError:
            sound = False
        if not sound:
            problems.append(Problem("this is not a repository name", "command line", f"'{name}'", "write ORG/NAME"))
    if problems:
        raise InvalidInput(problems)
