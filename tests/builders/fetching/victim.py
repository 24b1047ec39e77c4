"""What a process does that is to be killed: it fetches the invented release of a server."""

import os
import sys
import threading
from pathlib import Path

import pytest
from tqdm import tqdm

from shiftbench.builders.fetching.fetch import Plan, fetch, plan_fetch
from shiftbench.builders.readers.delimited import quoted_csv
from shiftbench.builders.specs.spec import FileSpec
from tests.builders.fetching.invented import archive, declare, download, task

FILES = (
    "letters/post.csv",
    "letters/checked.csv",
    "letters/1.0/train.csv",
    "letters/1.0/test.csv",
    FileSpec("posts/index.csv", quoted_csv("text", "label"), beside=("all",)),
)
"""What is read: two files, two members of a zip, and of a tar.gz a file and a folder of many."""


def plan_invented(raw: Path, url: str, sum_of_checked: str, patch: pytest.MonkeyPatch) -> Plan:
    """Declare the sources of the server's files, and plan to fetch them."""
    zipped = {f"letters/1.0/{name}.csv": f"release_1.0/{name}.csv" for name in ("train", "test")}
    declare(
        patch,
        letters=download(f"{url}/ds/post.csv")
        + download(f"{url}/ds/checked.csv", place="letters/checked.csv", more=f'sha256 = "{sum_of_checked}"')
        + archive(f"{url}/data/release_1.0.zip", zipped),
        posts=archive(
            f"{url}/~ang/posts.tar.gz", {"posts/index.csv": "release/index.csv", "posts/all": "release/all/"}
        ),
    )
    return plan_fetch([task(FILES)], [raw])


def fetch_invented(raw: Path, url: str, sum_of_checked: str) -> None:
    """Fetch the invented release; the traceback of Ctrl-C is not shown."""
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    tqdm.set_lock(threading.RLock())  # its own holds a semaphore, which a killed process leaves behind
    with pytest.MonkeyPatch.context() as patch:
        fetch(plan_invented(raw, url, sum_of_checked, patch), raw)
