"""Run notebooks without Jupyter: python -m tests.notebooks baselines/tour.ipynb runs one and saves its outputs in it.

Of IPython there is what the notebooks need: what a cell prints, and what its last expression shows (PNG, HTML, text).
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

_FORMATS = (("_repr_png_", "image/png"), ("_repr_html_", "text/html"))


def run_cell(source: str, names: dict[str, Any], title: str = "a cell") -> Any:
    """Run a cell in a namespace, and return the value of its last expression; None where it ends in a statement."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, title, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), title, "eval"), names)


def display_data(value: Any) -> dict[str, Any]:
    """Return what a notebook keeps of a value, by format."""
    shown: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    for method, name in _FORMATS:
        content = getattr(value, method)() if hasattr(value, method) else None
        if content is not None:
            is_text = isinstance(content, str)
            shown[name] = content.splitlines(keepends=True) if is_text else base64.b64encode(content).decode()
    if "image/png" in shown:
        shown["text/plain"] = ["<Figure>"]  # its own text has a place in memory
    return shown


def run_notebook(path: Path) -> dict[str, Any]:
    """Run the code cells of a notebook, in order, in an empty folder.

    Returns: the notebook with the outputs of this run.
    """
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="shiftbench-notebook-") as folder:
        os.chdir(folder)
        sys.path.insert(0, "")
        try:
            for number, cell in enumerate(each for each in notebook["cells"] if each["cell_type"] == "code"):
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    value = run_cell("".join(cell["source"]), names, f"code cell {number + 1} of {path.name}")
                cell["execution_count"] = number + 1
                cell["outputs"] = _outputs(printed.getvalue(), value, number + 1)
        finally:
            sys.path.remove("")
            os.chdir(before)
    return notebook


def _outputs(printed: str, value: Any, number: int) -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = []
    if printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        result = {"data": display_data(value), "execution_count": number, "metadata": {}}
        outputs.append({**result, "output_type": "execute_result"})
    return outputs


if __name__ == "__main__":
    place = Path(sys.argv[1])
    done = json.dumps(run_notebook(place), indent=1, ensure_ascii=False)
    place.write_text(done + "\n", encoding="utf-8")
