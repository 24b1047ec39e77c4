"""``python -m shiftbench`` and ``shiftbench`` are the command; it is loaded here, so that Ctrl-C may stop that, too."""

import sys


def main() -> None:
    """Load and run the command. Ctrl-C while libraries are loaded ends it with exit code 130 and one line."""
    try:
        from shiftbench.cli.command import main as run
    except KeyboardInterrupt:
        sys.exit(stop_while_loading())
    run()


def stop_while_loading() -> int:
    """Print that nothing had begun, and return the exit code of a command that was stopped."""
    print("stopped before anything was begun", file=sys.stderr)
    return 130


if __name__ == "__main__":
    main()
