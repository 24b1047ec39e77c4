"""The head of an entry's page: name, links, what can be done with it, how to cite it."""

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.pages.addresses import compare_address, entry_address, predictions_address, scores_address
from shiftbench.leaderboard.pages.links import named_links
from shiftbench.leaderboard.store import Entry
from shiftbench.scoring.reports.exports import bibtex_text
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.scores.shape import TaskScores


def heading(identity: str, entry: Entry | None, task: TaskScores | None, folder: DatasetFolder | None = None) -> Markup:
    """Build the head of an entry's page: the model's name, submitter and date, its address, links, what can be done.

    Args:
        identity: the entry's id.
        entry: the entry; None where its card cannot be read.
        task: the task that the page shows, if it has any.
        folder: the dataset that the entry is for.
    Returns: the head.
    """
    chosen = task.task if task else None
    permalink = tag("a", entry_address(identity), href=entry_address(identity, chosen), class_="sb-mono")
    if entry is None:
        return join([tag("h1", identity, class_="sb-name"), tag("p", permalink, class_="sb-by")])
    card = entry.card
    subset = "" if card.subset == "all" else f" \N{MIDDLE DOT} subset {card.subset}"
    by = (
        f"{card.paradigm}{subset} \N{MIDDLE DOT} submitted by {entry.submitter} on "
        f"{entry.submitted_at[:10]} \N{MIDDLE DOT} "
    )
    actions = [
        tag("a", "Compare with others", href=compare_address([identity], chosen), class_="sb-button"),
        tag("a", "Scores as JSON", href=scores_address(identity), class_="sb-button"),
    ]
    if folder is not None and folder.has_public_labels and entry.card.allows_download:
        address = predictions_address(identity)
        actions.append(tag("a", "Predictions as Parquet", href=address, download="", class_="sb-button"))
    return join(
        [
            tag("h1", card.name, class_="sb-name"),
            tag("p", by, permalink, class_="sb-by"),
            named_links(card.model_dump()),
            tag("p", *(actions if task else []), class_="sb-actions"),
            _citation(entry),
        ]
    )


def _citation(entry: Entry) -> Markup:
    """Build the folded BibTeX entry, and the address to copy."""
    address = entry_address(entry.id)
    text = citation(entry)
    return tag(
        "details",
        tag("summary", "Cite or link"),
        tag("p", tag("code", address, id="copy-address", data_absolute=""), " ", _copy_button("address", "Copy link")),
        tag("pre", text, id="copy-citation", tabindex="0"),
        _copy_button("citation", "Copy BibTeX"),
        class_="sb-card",
    )


def _copy_button(name: str, words: str) -> Markup:
    return tag("button", words, type="button", data_copy=f"copy-{name}")


def citation(entry: Entry) -> str:
    """Format an entry's BibTeX.

    Args:
        entry: the entry.
    Returns: a ``@misc`` that names model, submitter, year, entry and data.
    """
    card = entry.card
    fields = {
        "title": "{" + bibtex_text(f"{card.name} on the shiftbench leaderboard") + "}",
        "author": "{" + bibtex_text(entry.submitter) + "}",
        "year": entry.submitted_at[:4],
        "note": bibtex_text(f"Entry {entry.id}, data {card.data[:12]}, subset {card.subset}"),
    }
    written = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{shiftbench-{entry.id},\n{written}\n}}\n"
