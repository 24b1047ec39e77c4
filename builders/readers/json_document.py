"""Read a file that is one JSON document, validated against a schema."""

import re
from typing import TypeVar

import msgspec

from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem

RELEASE = "is this the upstream release that the build expects?"

_Document = TypeVar("_Document")


def json_document(file: UpstreamFile, kind: type[_Document], name: str) -> _Document:
    """Decode a whole file as JSON of type ``kind``; ``name`` is the format's name in errors.

    Raises: InvalidInput if the file is not JSON (row: the line), or does not match the type.
    """
    content = file.text().encode()
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise InvalidInput(Problem(f"this is not {name}", str(file.path), str(error), RELEASE)) from error
    except msgspec.DecodeError as error:
        at = re.search(r"\(byte (\d+)\)", str(error))
        line = content.count(b"\n", 0, int(at[1]) if at else len(content.rstrip())) + 1
        cure = "fetch the file again; it may be truncated"
        if at and b"{" in content[max(0, int(at[1]) - 1) : int(at[1]) + 1]:
            cure = "is it JSON lines (one object per line) instead of one document?"
        raise InvalidInput(Problem("the file is not JSON", str(file.path), str(error), cure, row=line)) from error
