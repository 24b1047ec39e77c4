"""Parts of a dataset card in Markdown: tables, and what is shown when its summary is clicked."""

from collections.abc import Sequence


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: Sequence[str] = ()) -> str:
    """Format a table; empty without rows.

    Args:
        columns: its header.
        rows: its cells.
        words: columns that hold words, beside the first; all others hold numbers, which stand at the right.
    """
    lines = [columns, ["---", *("---" if name in words else "---:" for name in columns[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) if rows else ""


def folded(summary: str, text: str) -> str:
    """Format a part that is shown when its summary is clicked; empty without a text."""
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>\n" if text else ""
