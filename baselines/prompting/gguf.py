"""Models in llama.cpp's GGUF format: one file with quantised weights, tokenizer and chat template."""

from pathlib import Path

from shiftbench.validation.command_line import require
from shiftbench.validation.report import InvalidInput, Problem

GGUF_SUFFIX = ".gguf"


def find_gguf(name: str) -> Path | None:
    """Find the GGUF file of a model.

    Returns: the file itself, or the one in a folder without a model in another format; None for other names.
    Raises: InvalidInput if there is no such file, the folder has several, or the package ``gguf`` is not installed.
    """
    path = Path(name)
    if path.suffix == GGUF_SUFFIX:
        if not path.is_file():
            raise InvalidInput(Problem("there is no such file", name, cure="check the path of the model"))
        files = [path]
    elif path.is_dir() and not (path / "config.json").exists():
        files = sorted(path.glob(f"*{GGUF_SUFFIX}"))
    else:
        return None
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise InvalidInput(Problem("the folder holds several models", name, names, "give the path of one of them"))
    if files:
        require("gguf", "gguf")
    return files[0] if files else None
