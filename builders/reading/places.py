"""Where an upstream file lies under the folders of upstream files, and why it cannot be read from there."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from shiftbench.validation.report import InvalidInput, Problem


def find_file(raws: Sequence[Path], place: str) -> Path | None:
    """Find a file under the first folder that has it, as it is, gzipped or zipped.

    Args:
        raws: folders that hold upstream files at ``RAW/<slug>/``, or one such slug folder itself; searched in order.
        place: the file's place, ``<slug>/...``.
    Returns: where it lies, ``<place>``, ``<place>.gz``, ``<place>.zip`` or a zip of the file's stem; None where no
        folder has it.
    Raises: InvalidInput when two zips could hold it, or what lies there is a folder or a link that leads nowhere.
    """
    blocked: list[Problem] = []
    for path in _candidates(raws, place):
        forms = (path, path.with_name(path.name + ".gz"))
        zips = [form for form in (path.with_name(path.name + ".zip"), path.with_suffix(".zip")) if form.is_file()]
        if plain := next((form for form in forms if form.is_file()), None):
            return plain
        if len(zips) > 1:
            found, cure = f"{zips[0].name} and {zips[1].name}", "keep the release's own, remove the other"
            raise InvalidInput(Problem(f"two zips could hold {path.name}", str(path.parent), found, cure))
        if zips:
            return zips[0]
        blocked += filter(None, map(_why_unreadable, forms))
    if blocked:
        raise InvalidInput(blocked)
    return None


def _candidates(raws: Sequence[Path], place: str) -> Iterator[Path]:
    slug, _, inside = place.partition("/")
    for raw in raws:
        yield raw / place
        if raw.resolve().name == slug:
            yield raw / inside


def _why_unreadable(path: Path) -> Problem | None:
    """Return why something at the place of a file cannot be read."""
    if path.is_dir():
        inside = [entry for entry in path.iterdir() if entry.name.startswith(path.name)]
        cure = f"move {inside[0].name} out of it" if inside else "put the file itself there"
        return Problem("there is a folder where a file should be", str(path), cure=cure)
    if path.is_symlink():
        found, cure = f"a link to {path.readlink()}", "put the file itself there, or a link to it"
        return Problem("the link leads in a circle or to nothing", str(path), found, cure)
    return None
