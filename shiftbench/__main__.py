"""Entry point of ``python -m shiftbench`` and ``shiftbench``.

The command is imported inside ``main``, so that Ctrl-C is also handled while its modules are loading.
"""

import sys


def main() -> None:
    """Load and run the command. Ctrl-C during imports exits with code 130 and a one-line message."""
    try:
        from shiftbench.cli.command import main as run
    except KeyboardInterrupt:
        sys.exit(stop_while_loading())
    run()


def stop_while_loading() -> int:
    """Print that no work had started; return 130, the exit code of an interrupted command."""
    print("stopped before any work was done", file=sys.stderr)
    return 130


if __name__ == "__main__":
    main()
