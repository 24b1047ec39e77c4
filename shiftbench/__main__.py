"""``python -m shiftbench`` is the command."""

from shiftbench.command import main

if __name__ == "__main__":
    main()
