"""The package as a whole: it imports no heavy library."""

import subprocess
import sys
from pathlib import Path

import shiftbench.metrics

FOLDER = Path(shiftbench.metrics.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def test_no_module_loads_a_heavy_library() -> None:
    script = (
        "import sys\n"
        + "".join(f"import shiftbench.metrics.{name}\n" for name in MODULES)
        + "heavy = {'torch', 'datasets', 'gradio', 'pandas', 'polars', 'sklearn', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
