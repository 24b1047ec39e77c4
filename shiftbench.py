"""The front door."""


def main() -> None:
    """Run."""
