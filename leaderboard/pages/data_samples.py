"""What a task's rows look like, and how to load them: for the data page."""

from functools import lru_cache

from shiftbench.builders.folder.configs import config_name
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.scores.examples import SampleRow, sample_rows


def samples_part(folder: DatasetFolder, task: str) -> Markup:
    """Build three rows of each domain, folded; of domains whose licence does not allow that, a sentence.

    Args:
        folder: the dataset.
        task: its task.
    Returns: a list of domains.
    """
    samples = _samples(folder.path.as_posix(), folder.content_hash, task)
    return join(_domain(domain, rows) for domain, rows in samples.items())


def loading_part(folder: DatasetFolder, task: str) -> Markup:
    """Build the lines of Python that load a task: all domains, and one.

    Args:
        folder: the dataset.
        task: its task.
    Returns: code, with a button that copies it.
    """
    config = config_name(task, folder.task(task))
    domain = next(iter(folder.task(task).domains), None)
    one = f'\nload_dataset(DATA, "{config}.{domain}")  # one domain' if domain else ""
    code = (
        "from datasets import load_dataset\n\n"
        f'load_dataset(DATA, "{config}")  # DATA: the dataset on the Hub, or its folder{one}\n'
    )
    button = tag("button", "Copy", type="button", data_copy="copy-loading")
    return join([tag("pre", code, id="copy-loading", tabindex="0", class_="sb-code"), button])


@lru_cache(maxsize=64)
def _samples(path: str, content_hash: str, task: str) -> dict[str, tuple[SampleRow, ...]]:
    """Read the rows once; data never changes."""
    folder = DatasetFolder.open(path)
    return {domain: sample_rows(folder, task, domain) for domain in folder.task(task).domains}


def _domain(domain: str, rows: tuple[SampleRow, ...]) -> Markup:
    if not rows:
        return tag("p", f"{domain}: the licence of its texts does not allow showing them.", class_="sb-soft")
    items = [tag("li", _row(row)) for row in rows]
    return tag("details", tag("summary", domain), tag("ol", *items, class_="sb-examples"))


def _row(row: SampleRow) -> Markup:
    many = len(row.texts) > 1
    texts = [tag("p", *([tag("b", f"{name.replace('_', ' ')}: ")] if many else []), text) for name, text in row.texts]
    gold = [tag("p", "correct: ", tag("b", row.gold))] if row.gold else []
    return join([*texts, *gold, tag("span", row.id, class_="sb-mono sb-soft")])
