"""DR AB: aspect terms and their polarity, one tag per word."""

from shiftbench.builders.readers.aspect_terms import aspect_terms
from shiftbench.builders.readers.tagged_text import tagged_text
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, TaskSpec
from shiftbench.builders.specs.transforms import count_untagged_words, group_by_text, keep_tagged, keep_tokens, rename
from shiftbench.validation.vocabulary import TaskKind

LABELS = ("O", "T-POS", "T-NEG", "T-NEU")

_COLUMNS = {"tokens": "tokens", "tags": "tags", "group": "group"}


def _tagged(name: str, file: str) -> DomainSpec:
    return DomainSpec(
        name=name,
        files={split: (FileSpec(f"absa/data/{file}_{split}.txt", tagged_text),) for split in ("train", "test")},
        transforms=(count_untagged_words(), keep_tokens(), group_by_text("tokens"), rename(_COLUMNS)),
    )


_MAMS = DomainSpec(
    name="mams",
    files={
        split: (FileSpec(f"mams/MAMS-ATSA/raw/{file}.xml", aspect_terms),)
        for split, file in {"train": "train", "validation": "val", "test": "test"}.items()
    },
    transforms=(keep_tagged(), keep_tokens(), group_by_text("tokens"), rename(_COLUMNS)),
)

AB = TaskSpec(
    benchmark="dr",
    name="ab",
    title="Aspect-based sentiment: aspect terms and their polarity",
    kind=TaskKind.TAGGING,
    inputs=("tokens",),
    labels=LABELS,
    metric="span_f1",
    train=2_000,
    validation=500,
    test=1_400,
    domains=(
        _tagged("device", "device"),
        _tagged("laptops", "laptop"),
        _tagged("restaurants", "rest"),
        _tagged("service", "service"),
        _MAMS,
    ),
    fewshot_domains=("device", "laptops", "mams"),
    notes=(
        "MAMS gives character offsets: its sentences are split into words first, and sentences whose terms overlap or "
        "start or end inside a word are dropped.",
        "A tag marks a token of a term of that polarity; adjacent terms of the same polarity are merged.",
        "A word without a tag upstream (one, in the test file of service) is O.",
        "Service has 2,239 sentences in all, fewer than the paper's 2,000 + 500 + 1,400 per domain: the paper's sizes "
        "cannot come from this release, so all domains have the size of the smallest one.",
        "Sentences in both train and test are kept in test only.",
    ),
)
