"""A samples file of 2 GB: the memory and time of reading it, compared with parsing each line alone."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.scoring.interchange.logs import digest, lm_eval_choice, lm_eval_text, write_lm_eval

SIZE = 2 * 10**9
LABELS = ("entailment", "neutral", "contradiction")
WORDS = "the harbour master said that every boat which had left before dawn would be back by the evening bell "

# Each measurement runs in a separate process, so that memory is measured separately. Both read the same bytes.
_PARSE = """
with open({path!r}, "rb") as file:
    for line in file:
        msgspec.json.decode(line)
"""
_READ = """
print(len(read_log(Path({path!r})).samples))
"""
_MEASURED = """
import time
from pathlib import Path
import msgspec, pyarrow
from shiftbench.scoring.interchange.reader import read_log
from shiftbench.validation.operating_system import peak_memory
start = time.process_time()
{program}
print(time.process_time() - start, peak_memory() / 2**30)
"""


def choice(place: int) -> dict[str, Any]:
    """Build a choice between labels after four demonstrations, whose prompt is repeated for each label."""
    line = lm_eval_choice(place, dict(zip(LABELS, (-1.0, -2.5, -4.0), strict=True)))
    example = f"Premise: {place} {WORDS * 4}\nHypothesis: {WORDS}\nAnswer:"
    prompt = f" {LABELS[0]}\n\n".join([example] * 5)
    for request in line["arguments"].values():
        request["arg_0"] = prompt
    return {**line, "doc": {"id": f"synthetic/nli/harbour/test/{place:012x}", "premise": WORDS * 4}}


def text(place: int) -> dict[str, Any]:
    """Build a summary of some forty words of a text."""
    line = lm_eval_text(place, f"{place} {WORDS * 3}")
    line["arguments"]["gen_args_0"]["arg_0"] = f"{place} {WORDS * 10}"
    return {**line, "doc": {"id": f"synthetic/as/harbour/test/{place:012x}", "source_text": WORDS * 10}}


def lines(make: Callable[[int], dict[str, Any]]) -> Iterator[bytes]:
    """Write distinct lines up to a size, from one template with the row's number."""
    mark = 123_456_789
    line = msgspec.json.encode(make(mark)) + b"\n"
    hashes = [digest(f"document {mark}").encode(), digest(f"Q{mark}:").encode()]
    named, size, place = f"{mark:012x}".encode(), 0, 0
    while size < SIZE:
        row = line.replace(named, b"%012x" % place).replace(b"%d" % mark, b"%d" % place)
        for each in hashes:
            row = row.replace(each, b"%064x" % place)
        size += len(row)
        place += 1
        yield row


def measured(program: str, path: Path) -> tuple[float, float, list[str]]:
    """Return CPU seconds, peak GiB, and the preceding output."""
    code = _MEASURED.format(program=program.format(path=str(path)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *told, last = done.stdout.splitlines()
    seconds, peak = map(float, last.split())
    return seconds, peak, told


@pytest.mark.long
@pytest.mark.parametrize("make", [choice, text])
def test_two_gigabytes_are_read_in_little_memory(make: Callable[[int], dict[str, Any]], tmp_path: Path) -> None:
    path = write_lm_eval(tmp_path, [])
    n = 0
    with path.open("wb") as file:
        for row in lines(make):
            file.write(row)
            n += 1
    parsing = min(measured(_PARSE, path)[0] for _ in range(2))
    reading, peak, told = min(measured(_READ, path) for _ in range(2))
    print(f"\n{make.__name__}: {path.stat().st_size / 1e9:.2f} GB, {n:,} rows; parsing alone {parsing:.1f} s, read in "
          f"{reading:.1f} s ({reading / parsing:.2f} times), peak {peak:.2f} GiB")  # fmt: skip
    path.unlink()
    assert told == [str(n)]
    assert peak < 1
    assert reading < 2 * parsing
