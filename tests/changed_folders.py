"""Dataset folders that a test changes on purpose: their manifests are made to agree, as another build's would."""

import json
from pathlib import Path

from shiftbench.builders.checksums import file_sha256
from shiftbench.builders.folder.manifest import MANIFEST
from shiftbench.builders.folder.reader import DatasetFolder


def open_changed(folder: Path) -> DatasetFolder:
    """Write the checksums of a folder's files, as they are now, into its manifest, and open it."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"] = {place: file_sha256(folder / place) for place in manifest["files"]}
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return DatasetFolder.open(folder)
