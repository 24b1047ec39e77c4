"""What a reading keeps on disk."""

from pathlib import Path

from shiftbench.builders.reading.checkpoint import Checkpoint, State


def test_what_a_killed_process_left_goes_and_named_parts_stay(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "kept")
    for name in (".new-killed/state.json", "0-1.parquet", "0-2.parquet"):
        (checkpoint.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (checkpoint.folder / name).write_text("")
    checkpoint.save(State(counts=[[]], fingerprints=[None], parts=[{"0-2.parquet": "e3b0"}]))
    assert sorted(path.name for path in checkpoint.folder.iterdir()) == ["0-2.parquet", "state.json"]
