"""What the dataset card says of a benchmark itself, read off its papers: citation, taxonomy, Hub tags."""

from shiftbench.builders.folder.citations import cite

PAPERS = {"dr": "calderon-etal-2024-measuring", "boss": "yuan-etal-2023-revisiting"}
"""Key in ``citations.bib`` of the paper of a benchmark, by its name."""

DEPTH_F1 = "seegmiller-etal-2024-depth"
"""Key of the paper that depths come from."""

GENBENCH = "hupkes-etal-2023-taxonomy"
"""Key of the paper that the taxonomy comes from."""

READ_OFF = {
    "dr": "sections 1, 3 and 5 and appendix D.2 of the Domain Robustness paper; its Table 11 has the authors' own",
    "boss": "sections 1 to 3 and appendix C.1 of the BOSS paper, which has no such table",
}
"""Where the categories below come from."""

TAXONOMY = {
    "dr": {
        "motivation": "practical: what a model loses when it is put to use on texts of another domain",
        "generalisation type": "cross domain, robustness",
        "shift type": "covariate, assumed: labels (for generation, target lengths) are kept alike between domains, "
        "while topic, and with it style and syntax, changes; `qa_imbalanced` shifts labels too",
        "shift source": "natural: domains are topics, genres or products of texts by people, none made to be hard",
        "shift locus": "finetune train-test for models trained on a source; pretrain-test for prompted ones",
    },
    "boss": {
        "motivation": "practical: performance on data other than what a model was trained on",
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
"""The Hub's finer tags, by task; none where the Hub has no word for it."""

SUMMARIES = ("as", "tg")
"""Tasks whose category on the Hub is summarization rather than any text generation."""


def papers_to_cite(benchmark: str, *, depths: bool) -> list[str]:
    """Return the papers to cite beside the sources' own.

    Args:
        benchmark: its name; own data has no paper.
        depths: the folder has depth tables.
    Returns: BibTeX entries, the benchmark's before the one of depths.
    """
    keys = [PAPERS[benchmark]] if benchmark in PAPERS else []
    return [cite(key) for key in keys + ([DEPTH_F1] if depths else [])]
