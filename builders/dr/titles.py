"""DR TG: titles of Amazon reviews; domains are product categories."""

from shiftbench.builders.readers.delimited import raw_tsv
from shiftbench.builders.specs.balances import common_lengths
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, TaskSpec
from shiftbench.builders.specs.transforms import group_by, keep_filled, keep_words_between, keep_words_found, rename
from shiftbench.validation.vocabulary import TaskKind

_READ = raw_tsv("product_parent", "review_headline", "review_body")


def _category(name: str, file: str) -> DomainSpec:
    return DomainSpec(
        name=name,
        files={"train": (FileSpec(f"amazon_us/amazon_reviews_us_{file}_v1_00.tsv", _READ),)},
        transforms=(
            keep_filled("review_headline"),
            keep_filled("review_body"),
            group_by("product_parent"),
            rename({"review_body": "source_text", "review_headline": "target_text", "group": "group"}),
            keep_words_between("target_text", 5, 20),
            keep_words_found("target_text", "source_text", 0.75),
        ),
    )


TG = TaskSpec(
    benchmark="dr",
    name="tg",
    title="Titles of product reviews",
    kind=TaskKind.GENERATION,
    inputs=("source_text",),
    labels=(),
    metric="bertscore_f1",
    train=17_500,
    validation=1_000,
    test=1_000,
    domains=(
        _category("beauty", "Beauty"),
        _category("books", "Books"),
        _category("dvd", "Video_DVD"),
        _category("kitchen", "Kitchen"),
        _category("sports", "Sports"),
        _category("wireless", "Wireless"),
    ),
    balance=common_lengths(1),
    # Three times the required sizes, so that length distributions can be matched.
    sample=58_500,
    distinct=("source_text",),
    fewshot_domains=("beauty", "books", "dvd"),
    notes=(
        "Titles have 5 to 20 words, and at least 75% of their distinct words are in the review (appendix D.1).",
        "In complete builds, title lengths (in words) have the same distribution in all domains. Each product is in "
        "one split only.",
        "The release was withdrawn; if a category is in several files, the first is read.",
    ),
)
