"""The process that loads a skops file and predicts with it; started and queried by ``isolated.py``.

It reads requests from standard input and writes responses to standard output: a line of JSON, then the number of bytes
that it states. Responses contain numbers and texts, never objects.

    python -m shiftbench.baselines.models.isolated_worker LIFELINE PLACE

LIFELINE is the file descriptor of a pipe; the process exits when its other end closes. PLACE is the file's path, for
messages.
"""

import json
import os
import signal
import sys
import warnings
from collections.abc import Mapping
from typing import Any, BinaryIO

from shiftbench.baselines.models.confinement import leave_network, limit, refuse_in_python, refuse_writing
from shiftbench.validation.operating_system import end_with_pipe

MAX_WARNINGS = 10


def main(place: str) -> None:
    """Load the file in the first message, then predict the rows of each further message until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent, which terminates this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints of other code must not mix with the responses
    has_left = leave_network()  # before numpy starts threads
    request, content = read_message(sys.stdin.buffer)
    try:
        estimator, answer = _load(request, content, place, has_left_network=has_left)
    except BaseException as error:
        write_message(answers, _failure(error))
        return
    write_message(answers, answer)
    del content
    while True:
        try:
            request, content = read_message(sys.stdin.buffer)
        except EOFError:
            return
        try:
            limit(request["memory_mib"], request["seconds"])
            header, body = _predict(estimator, request, content)
        except Exception as error:
            header, body = _failure(error), b""
        write_message(answers, header, body)


def _load(
    request: Mapping[str, Any], content: bytes, place: str, *, has_left_network: bool
) -> tuple[Any, dict[str, Any]]:
    """Check and load a file; after the check, only computation is allowed."""
    from shiftbench.baselines.models.skops_check import check_skops

    limit(request["memory_mib"], request["seconds"])
    checked = check_skops(content, place)
    import sklearn
    from joblib import cpu_count

    # skops imports all of scikit-learn, one package of which imports torch if installed: hiding it saves two seconds.
    sys.modules["torch"] = None  # type: ignore[assignment]
    from skops import io

    del sys.modules["torch"]
    from shiftbench.baselines.models.classes import class_names, classes_of

    cpu_count(only_physical_cores=True)  # runs a program; joblib caches the result
    notes = refuse_writing(has_left_network=has_left_network)
    refuse_in_python()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # The file was checked: it contains only listed types, and the remaining untrusted types are trees.
        estimator = io.loads(checked, trusted=io.get_untrusted_types(data=checked))
    texts = list(dict.fromkeys(f"{type(each.message).__name__}: {each.message}"[:500] for each in caught))
    classes = classes_of(estimator)
    return estimator, {
        "type": type(estimator).__name__,
        "classes": None if classes is None else class_names(classes),
        "has_probabilities": hasattr(estimator, "predict_proba"),
        "notes": notes,
        "warnings": texts[:MAX_WARNINGS],
        "version": sklearn.__version__,
    }


def _predict(estimator: Any, request: Mapping[str, Any], content: bytes) -> tuple[dict[str, Any], bytes]:
    import numpy as np

    from shiftbench.baselines.models.classes import class_names

    rows = json.loads(content)
    if request["form"] == "columns":
        import pandas as pd

        rows = pd.DataFrame(rows)
    if request["is_probabilities"]:
        values = np.ascontiguousarray(estimator.predict_proba(rows), dtype=np.float64)
        return {"shape": list(values.shape)}, values.tobytes()
    return {"shape": []}, json.dumps(class_names(estimator.predict(rows))).encode()


def _failure(error: BaseException) -> dict[str, Any]:
    from shiftbench.validation.report import InvalidInput, first_line

    if isinstance(error, InvalidInput):
        problem = error.problems[0]
        return {"problem": [problem.what, problem.file, problem.found, problem.cure]}
    return {"error": type(error).__name__, "line": first_line(error)[:300]}


def read_message(stream: BinaryIO) -> tuple[dict[str, Any], bytes]:
    """Read a line of JSON, and the number of bytes that it states; EOFError at the end of the stream."""
    line = stream.readline(2**24)
    if not line.endswith(b"\n"):
        raise EOFError
    header = json.loads(line)
    body = stream.read(header["n_bytes"])
    if len(body) < header["n_bytes"]:
        raise EOFError
    return header, body


def write_message(stream: BinaryIO, header: Mapping[str, Any], body: bytes = b"") -> None:
    """Write a line of JSON, followed by bytes."""
    stream.write(json.dumps({**header, "n_bytes": len(body)}).encode() + b"\n")
    stream.write(body)
    stream.flush()


if __name__ == "__main__":
    end_with_pipe(int(sys.argv[1]))
    main(sys.argv[2])
