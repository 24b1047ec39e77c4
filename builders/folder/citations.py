"""BibTeX entries of papers and data sets, from ``citations.bib``."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from shiftbench.builders.folder.manifest import Manifest
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.vocabulary import PLACEBO, TaskKind

_FILE = Path(__file__).parent / "citations.bib"


def cite(key: str) -> str:
    """Return a BibTeX entry of ``citations.bib``.

    Args:
        key: its key, such as ``socher-etal-2013-recursive``.
    Raises: InvalidInput, suggesting the nearest key, if there is no such entry.
    """
    citations = read_citations()
    if key not in citations:
        raise InvalidInput(
            Problem("there is no such entry", _FILE.name, f"'{key}'", did_you_mean(key, list(citations)))
        )
    return citations[key]


@cache
def read_citations() -> Mapping[str, str]:
    """Read ``citations.bib``: all entries by key."""
    return parse_citations(_FILE.read_text(encoding="utf-8"), _FILE.name)


def parse_citations(text: str, file: str) -> dict[str, str]:
    """Parse BibTeX into raw entries by key; ``file`` is the name of the text in problems.

    Raises: InvalidInput listing every line with an invalid block or a repeated key.
    """
    from bibtexparser.entrypoint import parse_string

    library = parse_string(text, parse_stack=[])
    if library.failed_blocks:
        raise InvalidInput(
            Problem(
                "this is not a single BibTeX entry",
                file,
                f"{(block.raw or '').splitlines()[0]!r} in line {(block.start_line or 0) + 1}",
                "close its braces, give each field once, and use no key twice",
            )
            for block in library.failed_blocks
        )
    return {entry.key: entry.raw or "" for entry in library.entries}


PAPERS = {"dr": "calderon-etal-2024-measuring", "boss": "yuan-etal-2023-revisiting"}
"""Key of each benchmark's paper in ``citations.bib``, by benchmark name."""

DEPTH_F1 = "seegmiller-etal-2024-depth"
"""Key of the paper that introduced depths."""

GENBENCH = "hupkes-etal-2023-taxonomy"
"""Key of the paper that introduced the taxonomy."""

READ_OFF = {
    "dr": "sections 1, 3 and 5 and appendix D.2 of the Domain Robustness paper; the authors' own categories are in its "
    "Table 11",
    "boss": "sections 1 to 3 and appendix C.1 of the BOSS paper, which does not state categories itself",
}
"""Sections of each paper from which the categories in ``TAXONOMY`` were taken."""

TAXONOMY = {
    "dr": {
        "motivation": "practical: how much accuracy a model loses when it is used on texts of another domain",
        "generalisation type": "cross domain, robustness",
        "shift type": "covariate, assumed: label proportions (for generation, target lengths) are balanced across "
        "domains, while topic, and with it style and syntax, changes; in `qa_imbalanced` labels shift, too",
        "shift source": "natural: domains are topics, genres or products of human-written texts; none is adversarial",
        "shift locus": "finetune train-test for models trained on a source; pretrain-test for prompted ones",
    },
    "boss": {
        "motivation": "practical: performance on data sets other than the training one",
        "generalisation type": "cross domain (here: cross data set), robustness",
        "shift type": "full: covariate and concept shift together",
        "shift source": "natural for most data sets; some were collected or generated to be hard (such as `anli`, "
        "`advqa`, `dynasent`, `adv_civil`, `toxigen`)",
        "shift locus": "finetune train-test for models trained on the ID data set; pretrain-test for prompted ones",
    },
}
"""The categories of the GenBench taxonomy, by benchmark."""

TASK_IDS = {
    "sa": "sentiment-classification",
    "td": "hate-speech-detection",
    "nli": "natural-language-inference",
    "ner": "named-entity-recognition",
    "qa": "extractive-qa",
    "qa_imbalanced": "extractive-qa",
    "eqa": "extractive-qa",
}
"""The Hub's task ids, by task; tasks without a matching one are absent."""

SUMMARIES = ("as", "tg")
"""Tasks whose category on the Hub is summarization rather than any text generation."""


def papers_to_cite(benchmark: str, *, depths: bool) -> list[str]:
    """Return the papers to cite in addition to those of the sources.

    Args:
        depths: whether the folder has depth tables.
    Returns: BibTeX entries, the benchmark's first.
    """
    keys = [PAPERS[benchmark]] if benchmark in PAPERS else []
    return [cite(key) for key in keys + ([DEPTH_F1] if depths else [])]


_CATEGORIES = {
    TaskKind.CLASSIFICATION: "text-classification",
    TaskKind.TAGGING: "token-classification",
    TaskKind.EXTRACTIVE_QA: "question-answering",
    TaskKind.GENERATION: "text-generation",
}


def task_category(manifest: Manifest, name: str) -> str:
    """Return the Hub's category of a task."""
    if manifest.benchmark in PAPERS and plain_task(name) in SUMMARIES:
        return "summarization"
    return _CATEGORIES[manifest.tasks[name].kind]


def plain_task(task: str) -> str:
    """Return a task's name without the suffix of a placebo or candidate task.

    >>> plain_task("nli.placebo"), plain_task("ner_candidates")
    ('nli', 'ner')
    """
    return task.removesuffix(PLACEBO).removesuffix("_candidates")
