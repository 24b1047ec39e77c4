"""Markdown of a dataset card: tables and collapsible sections."""

from collections.abc import Sequence


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: Sequence[str] = ()) -> str:
    """Format a table; empty without rows.

    Args:
        columns: its header.
        rows: its cells.
        words: text columns in addition to the first; all others are numeric and right-aligned.
    """
    lines = [columns, ["---", *("---" if name in words else "---:" for name in columns[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) if rows else ""


def folded(summary: str, text: str) -> str:
    """Format a collapsible section; ``""`` without a text."""
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>\n" if text else ""
