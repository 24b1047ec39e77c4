"""Entry point of ``python -m shiftbench`` and ``shiftbench``; imports the command here, so Ctrl-C stops imports."""

import sys


def main() -> None:
    """Load and run the command. Ctrl-C during imports exits with code 130 and a one-line message."""
    try:
        from shiftbench.cli.command import main as run
    except KeyboardInterrupt:
        sys.exit(stop_while_loading())
    run()


def stop_while_loading() -> int:
    """Print that no work had started, and return the exit code of an interrupted command."""
    print("stopped before any work was done", file=sys.stderr)
    return 130


if __name__ == "__main__":
    main()
