"""DR NLI: the five genres of MultiNLI."""

from shiftbench.builders.readers.json_lines import json_lines
from shiftbench.builders.specs.balances import equal_labels
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, TaskSpec
from shiftbench.builders.specs.transforms import group_by_text, keep_in, keep_labelled, rename
from shiftbench.validation.vocabulary import TaskKind

LABELS = ("entailment", "neutral", "contradiction")
MATCHED_GENRES = ("fiction", "government", "slate", "telephone", "travel")

_READ = json_lines("gold_label", "genre", "sentence1", "sentence2")
_READ_TEST = json_lines("gold_label", "genre", "sentence1", "sentence2", lists=("annotator_labels",))


def genre(name: str) -> DomainSpec:
    """Return the domain of one genre of MultiNLI.

    Args:
        name: one of ``MATCHED_GENRES``.
    Returns: a domain with the splits train and test.
    """
    return DomainSpec(
        name=name,
        files={
            "train": (
                FileSpec("multinli_1.0/multinli_1.0_train.jsonl", _READ),
                FileSpec(f"mnli_genres/{name}_train.jsonl", _READ, partial=True, slug="multinli_1.0"),
            ),
            # MultiNLI's own test labels are not public: its matched development pairs are the test set.
            "test": (
                FileSpec("multinli_1.0/multinli_1.0_dev_matched.jsonl", _READ_TEST),
                FileSpec(f"mnli_genres/{name}_test.jsonl", _READ_TEST, partial=True, slug="multinli_1.0"),
            ),
        },
        transforms=(
            keep_in("genre", (name,)),
            rename(
                {"sentence1": "premise", "sentence2": "hypothesis", "gold_label": "label"}, votes="annotator_labels"
            ),
            keep_labelled(LABELS, ("-",)),
            group_by_text("premise"),
        ),
    )


NLI = TaskSpec(
    benchmark="dr",
    name="nli",
    title="Natural language inference across the genres of MultiNLI",
    kind=TaskKind.CLASSIFICATION,
    inputs=("premise", "hypothesis"),
    labels=LABELS,
    metric="macro_f1",
    train=50_000,
    validation=2_500,
    test=2_000,
    domains=tuple(genre(name) for name in MATCHED_GENRES),
    balance=equal_labels(LABELS),
    fewshot_domains=("fiction", "telephone", "travel"),
    notes=(
        "The test split is MultiNLI's matched development section (the official test labels are not public); "
        "its domains differ slightly in size, as in the paper.",
        "Premises in both train and test are kept in test only.",
        "Labels are balanced in train and validation; the test split has the upstream distribution.",
    ),
)
