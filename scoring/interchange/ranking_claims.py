"""A ranking as a claim that others can reproduce: its inputs, how they were read, and the check that ranks again."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import pydantic

from shiftbench.scoring.comparing.unit_ranks import Ranking, ScoreTable, Standing, rank_table
from shiftbench.scoring.interchange.boards import read_board
from shiftbench.scoring.interchange.score_tables import Reading
from shiftbench.validation.outside import OutsideText
from shiftbench.validation.report import InvalidInput, Problem

MAX_BYTES = 256 * 2**20
_TOLERANCE = 1e-9
"""Tolerance for scores and Student's p values; ranks and letters must be identical."""


class RankingClaim(pydantic.BaseModel, extra="forbid", frozen=True):
    """The output of ``logs ranks --json``: the files as given, a hash of their scores, and how they were read."""

    ranks_version: Literal[1] = 1
    package: OutsideText
    files: tuple[OutsideText, ...] = pydantic.Field(min_length=1)
    table_sha256: str = pydantic.Field(pattern=r"^[0-9a-f]{64}$")
    reading: Reading
    ranking: Ranking
    standing: Standing | None = None


def make_ranking_claim(
    table: ScoreTable,
    ranking: Ranking,
    files: Sequence[str | Path],
    how: Reading,
    standing: Standing | None = None,
) -> RankingClaim:
    """Build the claim of a ranking.

    Args:
        table: the scores.
        ranking: their ranking.
        files: the files that the table was read from, as given.
        how: how they were read.
        standing: which claims of an earlier table still hold; ``check_ranking_claim`` does not check it.
    """
    return RankingClaim(
        package=f"shiftbench {version('shiftbench')}",
        files=tuple(str(file) for file in files),
        table_sha256=table_hash(table),
        reading=how,
        ranking=ranking,
        standing=standing,
    )


def table_hash(table: ScoreTable) -> str:
    """Hash the names and scores of a table, in the order of its models and units."""
    digest = sha256("\x00".join([*table.models, "", *table.units]).encode())
    digest.update(table.scores.tobytes())
    return digest.hexdigest()


def is_ranking_claim(path: Path) -> bool:
    """Return whether a file was written by ``logs ranks --json``, by its first key."""
    with path.open("rb") as file:
        return file.read(64).lstrip(b"{ \r\n\t").startswith(b'"ranks_version"')


def read_ranking_claim(path: Path) -> RankingClaim:
    """Read a claim.

    Args:
        path: JSON written by ``logs ranks --json``.

    Returns: the claim; its content is not verified yet.

    Raises: InvalidInput if it is not a valid claim.
    """
    if path.stat().st_size > MAX_BYTES:
        raise InvalidInput(Problem("the claim is too large", str(path), f"{path.stat().st_size:,} bytes"))
    try:
        return RankingClaim.model_validate_json(path.read_bytes())
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        found = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        cure = "give the output of 'shiftbench logs ranks --json'"
        raise InvalidInput(Problem("not a valid ranking", str(path), found, cure)) from error


def check_ranking_claim(claim: RankingClaim, path: Path, files: Sequence[Path] = ()) -> list[str]:
    """Rank a claim's files again, and compare.

    Args:
        claim: the claim.
        path: its file; the files that it names are relative to its folder.
        files: other paths to use instead of these.

    Returns: the differences, a sentence each without a full stop; empty if the claim holds.

    Raises: InvalidInput if the files are missing or cannot be read.
    """
    table = read_board(list(files) or [path.parent / file for file in claim.files], claim.reading)
    return list(_differences(claim, table))


def _differences(claim: RankingClaim, table: ScoreTable) -> Iterator[str]:
    if table_hash(table) != claim.table_sha256:
        yield "The table's names or scores differ from those of the claim"
    again = rank_table(table, standardised=claim.ranking.standardised)
    before, now = (_without_sentences(each) for each in (claim.ranking, again))
    for name in before:
        if not _agrees(before[name], now[name]):
            yield f"{name.replace('_', ' ')}: claimed {_short(before[name])}, recomputed {_short(now[name])}"


def _without_sentences(ranking: Ranking) -> dict[str, Any]:
    """Return the ranking's data: sentences may be worded differently in another version."""
    return ranking.model_dump(exclude={"claim", "notes"}) | {"no_ranks": ranking.no_ranks is not None}


def _agrees(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, int | float):
        return abs(a - b) <= _TOLERANCE * max(1.0, abs(a))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_agrees(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(_agrees(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
