"""Mutations of external files: each value of a JSON document, its bytes, and the entries of an archive."""

import copy
import json
import random
import struct
from collections.abc import Iterator
from typing import Any

DEEP = "[" * 100_000
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    "",
    "x",
    "\x1b[2J\u202e",
    "\ud800",
    "../../etc/passwd",
    "(",
    "9" * 600,
    -1,
    0.5,
    10**30,
    -(10**400),
    1e308,
    float("nan"),
    float("-inf"),
    [],
    {},
    [[None]],
    {"": {"": []}},
)
"""Replacement values."""
_LOCAL, _CENTRAL = b"PK\x03\x04", b"PK\x01\x02"


def mutated_values(document: Any, rng: random.Random, n: int) -> Iterator[tuple[str, str]]:
    """Change one value of a document at a time.

    Returns: what was done, and the document as Python writes it, n times.
    """
    places = [place for place in _places(document) if place]
    for _ in range(n):
        changed, place = copy.deepcopy(document), rng.choice(places)
        holder = changed
        for key in place[:-1]:
            holder = holder[key]
        how = rng.choice(("drop", "repeat", "rename", "odd", "odd", "odd", "odd"))
        last = place[-1]
        if how == "drop":
            del holder[last]
        elif how == "repeat" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        elif how == "rename" and isinstance(holder, dict):
            holder[rng.choice(("", "\u202e", f"{last} "))] = holder.pop(last)
        else:
            odd = rng.choice(ODD_VALUES)
            holder[last], how = odd, ascii(odd)
        yield f"{'.'.join(map(str, place))}: {how[:40]}", json.dumps(changed)


def mutated_bytes(content: bytes, rng: random.Random, n: int) -> Iterator[tuple[str, bytes]]:
    """Cut, overwrite, repeat or replace bytes of a file, n times."""
    for _ in range(n):
        at, size = rng.randrange(len(content)), rng.choice((1, 1, 4, 60))
        kind = rng.choice(("cut", "noise", "drop", "repeat", "not UTF-8", "NUL", "deep", "swap"))
        rest = content[at + size :]
        middle = {
            "cut": b"",
            "noise": rng.randbytes(size),
            "drop": b"",
            "repeat": content[at : at + size] * 2,
            "not UTF-8": b"\xff\xfe\xc3",
            "NUL": b"\x00",
            "deep": DEEP.encode(),
            "swap": content[at : at + size][::-1],
        }[kind]
        yield f"{kind} at {at}", content[:at] + middle + (b"" if kind == "cut" else rest)
    yield from (
        ("empty", b""),
        ("deep", DEEP.encode()),
        ("a blank", b" "),
        ("null", b"null"),
        ("a list", b"[]"),
    )


def mutated_archive(content: bytes, rng: random.Random, n: int) -> Iterator[tuple[str, bytes]]:
    """Change fields of a zip archive's headers: flags, method, checksum, sizes, offsets, name lengths; n times."""
    marks = [at for mark in (_LOCAL, _CENTRAL) for at in _find_all(content, mark)]
    for _ in range(n):
        at = rng.choice(marks)
        size = 26 if content[at : at + 4] == _LOCAL else 42
        place = at + 4 + 2 * rng.randrange(size // 2)
        number = rng.choice((0, 1, 2, 8, 12, 14, 93, 99, 0x7FFF, 0xFFFF))
        yield f"{place} = {number}", content[:place] + struct.pack("<H", number) + content[place + 2 :]


def encrypted(content: bytes) -> bytes:
    """Mark the entries of a zip archive as encrypted, as a password does."""
    changed = bytearray(content)
    for mark, flags in ((_LOCAL, 6), (_CENTRAL, 8)):
        for at in _find_all(content, mark):
            changed[at + flags] |= 1
    return bytes(changed)


def _places(document: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Find the path of every value in a document."""
    yield place
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in items:
        yield from _places(value, (*place, key))


def _find_all(content: bytes, mark: bytes) -> list[int]:
    found, at = [], content.find(mark)
    while at >= 0:
        found.append(at)
        at = content.find(mark, at + 1)
    return found
