"""Keys of caches: with each input changed, one at a time, another key; and lists of who makes them."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.baselines.prompting.cache import answer_key
from shiftbench.baselines.prompting.local import files_key
from shiftbench.baselines.runs import WorkFolder
from shiftbench.baselines.training.models import model_version
from shiftbench.builders.building.own import own_key
from shiftbench.builders.building.own_columns import Columns
from shiftbench.builders.building.own_rows import own_rows
from shiftbench.builders.building.own_tables import table_of
from shiftbench.builders.cache import cache_key
from shiftbench.builders.checksums import file_sha256, file_state
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.readers.with_sibling import WithSibling
from shiftbench.builders.reading import checkpoint
from shiftbench.builders.reading.checkpoint import checkpoint_key
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.vocabulary import TaskKind

ROOT = Path(__file__).parents[2]


def replace_quietly(path: Path, content: bytes) -> None:
    """Put another file of the same size and date at a path."""
    before = path.stat()
    assert len(content) == before.st_size
    other = path.with_name("other")
    other.write_bytes(content)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_an_object_that_is_no_data_has_no_key() -> None:
    with pytest.raises(TypeError, match="JSON"):
        cache_key({"path": Path("x")})


def test_a_file_of_the_same_size_and_date_has_another_state(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"one")
    first = file_state(path)
    assert file_state(path) == first
    replace_quietly(path, b"two")
    inode, size, written, changed = file_state(path)
    assert (size, written) == tuple(first[1:3])
    assert (inode, changed) != (first[0], first[3])


TABLE = {"domain": ["a", "b"] * 4, "label": ["x", "x", "y", "y"] * 2, "text": [f"t{n}" for n in range(8)]}


COLUMNS = Columns(label="label")


def key_of_own(
    table: dict[str, list[str]] = TABLE,
    columns: Columns = COLUMNS,
    kind: TaskKind | None = TaskKind.CLASSIFICATION,
    name: str = "frame",
    task: str = "own",
    **options: Any,
) -> str:
    tables = [table_of(pl.DataFrame(table), name)]
    return own_key(task, own_rows(tables, columns, kind), tables, **options)


class Vectors(Encoder):
    """An encoder whose weights are known by their revision."""

    def __init__(self, name: str, revision: str) -> None:
        self.name, self.revision = name, revision


@pytest.mark.parametrize(
    "change",
    [
        {"table": TABLE | {"text": [f"t{n}" for n in range(1, 9)]}},
        {"table": TABLE | {"label": ["x", "y"] * 4}},
        {"table": TABLE | {"domain": ["a", "c"] * 4}},
        {"table": TABLE | {"split": ["test"] * 8}},
        {"table": TABLE | {"group": ["g"] * 8}},
        {"table": {name: values[::-1] for name, values in TABLE.items()}},
        {"table": TABLE | {"unread": ["z"] * 8}},
        {"kind": TaskKind.GENERATION},
        {"columns": Columns(label="text", text=("label",))},
        {"table": TABLE | {"key": TABLE["text"]}, "columns": Columns(label="label", id="key")},
        {"columns": Columns(label="domain", domain="label")},
        {"name": "other"},
        {"task": "other"},
        {"min_texts": 1},
        {"seed": 1},
        {"encoder": Vectors("minilm", "1" * 64)},
    ],
    ids=lambda change: " ".join(f"{name}" for name in change),
)
def test_the_key_of_own_data_changes_with_each_input(change: dict[str, Any]) -> None:
    assert key_of_own(**change) != key_of_own() == key_of_own()


def test_the_key_of_own_data_has_the_encoders_content() -> None:
    ours = {key_of_own(encoder=Vectors(name, digit * 64)) for name in ("a", "b") for digit in "12"}
    assert len(ours) == 4


def test_a_text_of_two_lines_is_not_two_texts() -> None:
    one = TABLE | {"text": ["t0", "t1\nt2", *TABLE["text"][2:]]}
    two = TABLE | {"text": ["t0\nt1", "t2", *TABLE["text"][2:]]}
    assert key_of_own(one) != key_of_own(two)


def other_path(path: Path) -> Path:
    return Path(shutil.copy2(path, path.with_name("copy.csv")))


def other_content(path: Path) -> Path:
    replace_quietly(path, b"two")
    return path


def other_date(path: Path) -> Path:
    os.utime(path, ns=(0, 0))
    return path


def other_size(path: Path) -> Path:
    before = path.stat()
    path.write_bytes(b"more")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return path


@pytest.mark.parametrize("change", [other_path, other_content, other_date, other_size])
def test_the_key_of_a_reading_changes_with_the_file(change: Callable[[Path], Path], tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"one")
    first = checkpoint_key(path, ["reader"])
    assert checkpoint_key(path, ["reader"]) == first != checkpoint_key(change(path), ["reader"])


def test_the_key_of_a_reading_changes_with_what_is_read_and_who_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.csv").write_bytes(b"one")
    keys = {checkpoint_key(tmp_path / "rows.csv", what) for what in (["reader"], ["other"], ["reader", "step"])}
    monkeypatch.setattr(checkpoint, "program_sha256", lambda: "another program")
    assert len({*keys, checkpoint_key(tmp_path / "rows.csv", ["reader"])}) == 4


def test_a_reading_has_the_same_key_in_another_process(tmp_path: Path) -> None:
    """The text form of a function has its address in memory, by which what was kept of its reading is never found."""
    path = tmp_path / "rows.csv"
    path.write_bytes(b"one")
    program = (
        "import sys; from pathlib import Path; from shiftbench.builders.reading import checkpoint\n"
        "print(checkpoint.checkpoint_key(Path(sys.argv[1]), [checkpoint.file_sha256]))"
    )
    command = [sys.executable, "-c", program, str(path)]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT).stdout
    assert told.strip() == checkpoint_key(path, [file_sha256])


def read_rows(_: UpstreamFile) -> Iterator[pl.DataFrame]:
    yield pl.DataFrame()


def read_other_rows(_: UpstreamFile) -> Iterator[pl.DataFrame]:
    yield pl.DataFrame()


def test_functions_that_read_are_told_apart_by_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"one")
    assert checkpoint_key(path, [read_rows]) == checkpoint_key(path, [read_rows])
    assert checkpoint_key(path, [read_rows]) != checkpoint_key(path, [read_other_rows])
    for nameless in (lambda _: iter(()), WithSibling(read_rows, "labels.csv", read_rows, "id"), object()):
        with pytest.raises(TypeError, match="identified"):
            checkpoint_key(path, [nameless])


@pytest.mark.parametrize("version", [model_version, lambda name: files_key(Path(name))], ids=["trained", "asked"])
def test_models_of_the_same_size_and_date_are_told_apart(version: Callable[[str], Any], tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    weights = tmp_path / "model" / "model.safetensors"
    weights.write_bytes(b"one")
    first = version(str(tmp_path / "model"))
    assert version(str(tmp_path / "model")) == first
    replace_quietly(weights, b"two")
    assert version(str(tmp_path / "model")) != first


@pytest.mark.parametrize(
    "file",
    [
        "spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "source.spm", "bpe.codes", "vocab", "merges.txt",
        "vocab.txt", "dict.pkl", "tekken.tiktoken", "modules.json", "2_Dense/config.json", "2_Dense/pytorch_model.bin",
        "3_Own/own_module.py", "vocab.tsv", "word_weights.npy",
    ],
)  # fmt: skip
def test_every_file_that_a_load_may_read_makes_another_encoder(file: str, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / file).parent.mkdir(exist_ok=True)
    revisions = set()
    for content in (b"one", b"two"):
        (tmp_path / file).write_bytes(content)
        revisions.add(Encoder(str(tmp_path)).revision)
    assert len(revisions) == 2


def test_words_about_an_encoder_make_no_other(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    first = Encoder(str(tmp_path)).revision
    for name in ("README.md", "LICENSE", "LICENSE.txt", ".gitattributes", ".git/HEAD"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("words")
    assert Encoder(str(tmp_path)).revision == first


def test_answers_and_runs_change_with_each_input(tmp_path: Path) -> None:
    one: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "x"}], "temperature": 0.0}
    others = [{"model": "n"}, {"messages": []}, {"temperature": 0.1}, {"seed": 1}]
    assert len({answer_key(one | other) for other in ({}, *others)}) == 5
    assert answer_key({"b": 1, "a": 2}) == answer_key({"a": 2, "b": 1})
    runs = {
        WorkFolder(tmp_path / "p.parquet", {"model": model}).scratch(source, seed)
        for model in ("m", "n")
        for source in ("a", "b")
        for seed in (0, 1)
    }
    assert len(runs) == 8


def test_no_key_is_made_beside_the_one_function() -> None:
    """Sizes and dates alone are no identity; ``checksums`` asks for more, and a backup's listing is of one store."""
    asking = re.compile(r"st_mtime|st_ctime|st_ino")
    rooms = ("builders", "baselines", "leaderboard", "shiftbench", "validation")
    files = [file for room in rooms for file in (ROOT / room).rglob("*.py") if asking.search(file.read_text("utf-8"))]
    assert [str(file.relative_to(ROOT)) for file in files] == ["builders/checksums.py", "leaderboard/store/local.py"]
