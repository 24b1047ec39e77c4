"""Run a Hub on the loopback interface: python -m tests.hub FOLDER; prints its address, ends when its input does."""

import sys
from pathlib import Path

from tests.hub.server import running_hub

if __name__ == "__main__":
    with running_hub(Path(sys.argv[1])) as hub:
        print(hub.url, flush=True)
        sys.stdin.read()
