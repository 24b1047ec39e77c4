"""The pages that people write, and how long they are: ``python -m tests.pages`` prints lines and words of each."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("validation", "metrics", "builders", "scoring", "baselines", "leaderboard", "shiftbench", "benchmarks")
SITE = sorted((ROOT / "docs").rglob("*.md"))
READMES = [ROOT / "README.md", *sorted(path for room in ROOMS for path in (ROOT / room).rglob("README.md"))]
PAGES = [*READMES, ROOT / "CONTRIBUTING.md", *SITE]
"""Without the changelog, and without what ``docs/hooks/generated.py`` makes of the code."""


def name_of(page: Path) -> str:
    """Return a page's path below the root."""
    return page.relative_to(ROOT).as_posix()


TEXTS = {name_of(page): page.read_text(encoding="utf-8") for page in PAGES}


def count_words(text: str) -> int:
    """Count what stands between spaces, code and tables included, as ``wc -w`` does."""
    return len(text.split())


if __name__ == "__main__":
    for name, text in TEXTS.items():
        print(f"{count_words(text):6} words  {len(text.splitlines()):4} lines  {name}")
    print(f"{sum(map(count_words, TEXTS.values())):6} words on {len(TEXTS)} pages")
