"""Installed size of shiftbench by distribution, measured in a new environment.

Sizes are those on disk, as counted by ``du``, including bytecode.
"""

import subprocess
import tempfile
import venv
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackagePath, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rich.console import RenderableType

from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.validation.report import and_more

CLONE = Path(__file__).parents[1]
OWN = "shiftbench"
_SHOWN = 3


@dataclass(frozen=True)
class Weight:
    """A distribution in an environment.

    Attributes:
        name: normalised name.
        needed_by: the distributions that require it, in alphabetical order.
        size: bytes on disk, including bytecode.
        freed: bytes saved if shiftbench did not require it, including dependencies required by nothing else; None if it
            is not a direct requirement of shiftbench.
        is_extra: whether it is only required by an extra.
    """

    name: str
    needed_by: tuple[str, ...]
    size: int
    freed: int | None
    is_extra: bool


def install(place: Path, extras: Collection[str] = ()) -> Path:
    """Create an environment, install the clone with extras, and return the folder of its packages."""
    venv.create(place, with_pip=True)
    what = f"{CLONE}[{','.join(extras)}]" if extras else str(CLONE)
    flags = ("--quiet", "--disable-pip-version-check", "--constraint", str(CLONE / "constraints.txt"))
    subprocess.run([place / "bin" / "python", "-m", "pip", "install", *flags, what], check=True)
    return next(place.glob("lib/python*/site-packages"))


def weigh(site: Path, extras: Collection[str] = ()) -> list[Weight]:
    """Measure the sizes of shiftbench and its dependencies.

    Args:
        site: the folder of an environment's packages.
        extras: installed extras of shiftbench.
    Returns: largest first; distributions that shiftbench does not depend on, such as pip, are excluded.
    """
    there: dict[str, Distribution] = {
        canonicalize_name(each.metadata["Name"]): each for each in distributions(path=[str(site)])
    }
    sizes = {name: sum(map(_on_disk, map(_place, each.files or ()))) for name, each in there.items()}
    core, needs = _needs(there, ()), _needs(there, extras)

    def freed(name: str) -> int:
        return sum(sizes[each] for each in set(needs) - set(_needs(there, extras, without=name)))

    weights = [
        Weight(
            name, tuple(sorted(each for each in needs if name in needs[each])), sizes[name],
            freed(name) if name in needs[OWN] else None, name not in core,
        )
        for name in needs
    ]  # fmt: skip
    return sorted(weights, key=lambda weight: (-weight.size, weight.name))


def _needs(
    there: Mapping[str, Distribution], extras: Collection[str], without: str | None = None
) -> dict[str, set[str]]:
    """Return shiftbench's transitive dependencies, each with its requirements; extras count if they are requested.

    Args:
        there: the distributions in the environment.
        extras: extras of shiftbench.
        without: a distribution to remove from shiftbench's own requirements.
    """
    asked: dict[str, set[str]] = defaultdict(set, {OWN: set(extras)})
    needs: dict[str, set[str]] = {OWN: set()}
    left = [OWN]
    while left:
        name = left.pop()
        for need in map(Requirement, there[name].requires or ()):
            wanted = ({"extra": extra} for extra in ("", *asked[name]))
            other = canonicalize_name(need.name)
            is_wanted = need.marker is None or any(map(need.marker.evaluate, wanted))
            if not is_wanted or other not in there or (name, other) == (OWN, without):
                continue
            needs[name] |= {other} - {name}
            if other not in needs or not need.extras <= asked[other]:
                needs.setdefault(other, set())
                asked[other] |= need.extras
                left.append(other)
    return needs


def _place(file: PackagePath) -> Path:
    return Path(str(file.locate()))


def _on_disk(file: Path) -> int:
    return file.lstat().st_blocks * 512 if file.is_symlink() or file.exists() else 0


def install_lines(extras: Collection[str] = ()) -> Iterator[RenderableType]:
    """Install shiftbench into a new environment; yield a table of its distributions and the total sizes."""
    with tempfile.TemporaryDirectory(prefix="shiftbench-install-") as place:
        site = install(Path(place), extras)
        weights = weigh(site, extras)
        added = {extra: [each for each in weigh(site, [extra]) if each.is_extra] for extra in extras}
        whole = sum(map(_on_disk, Path(place).rglob("*")))
    rows = [
        [each.name, _mb(each.size), "" if each.freed is None else _mb(each.freed),
         ", ".join(each.needed_by[:_SHOWN]) + and_more(max(0, len(each.needed_by) - _SHOWN), "package")]
        for each in weights
    ]  # fmt: skip
    head = ("distribution", "MB", "MB saved without it", "required by")
    title = f"shiftbench[{','.join(extras)}]" if extras else "shiftbench without extras"
    yield PlainTable(title, head, rows, texts=("required by",))
    for extra, its in added.items():
        yield f"{extra}: {len(its)} distributions in addition to the core, {_total(its)} MB"
    yield f"total: {len(weights)} distributions, {_total(weights)} MB; {_mb(whole)} MB including pip and Python's links"


def _total(weights: Iterable[Weight]) -> str:
    return _mb(sum(weight.size for weight in weights))


def _mb(size: int) -> str:
    """Format bytes in MB of 2**20 bytes, as ``du -m`` does."""
    return f"{size / 2**20:,.1f}"
