"""DR SA: reviews of five Amazon categories and of airlines, negative or positive."""

from shiftbench.builders.readers.delimited import quoted_csv
from shiftbench.builders.readers.json_lines import json_lines
from shiftbench.builders.specs.balances import equal_labels
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, TaskSpec
from shiftbench.builders.specs.transforms import group_by, keep_filled, label_from, remove_links, rename
from shiftbench.validation.vocabulary import TaskKind

LABELS = ("negative", "positive")

# 5.0 in the release; 5 in copies rewritten by JSON tools.
_STARS = {"1.0": "negative", "2.0": "negative", "4.0": "positive", "5.0": "positive"}
_STARS |= {stars.removesuffix(".0"): label for stars, label in _STARS.items()}
_CLEAN = (remove_links("text"), keep_filled("text"))


def _category(name: str, file: str) -> DomainSpec:
    # The release contains rows without a text.
    read = json_lines("overall", "asin", optional=("reviewText",))
    return DomainSpec(
        name=name,
        files={"train": (FileSpec(f"amazon/{file}.json", read),)},
        transforms=(
            label_from("overall", _STARS, ("3.0", "3")),
            keep_filled("reviewText"),
            group_by("asin"),
            rename({"reviewText": "text", "label": "label", "group": "group"}),
            *_CLEAN,
        ),
    )


_AIRLINE = DomainSpec(
    name="airline",
    files={"train": (FileSpec("airline/airline.csv", quoted_csv("airline_name", "content", "recommended")),)},
    transforms=(
        label_from("recommended", {"0": "negative", "1": "positive"}),
        keep_filled("content"),
        group_by("airline_name"),
        rename({"content": "text", "label": "label", "group": "group"}),
        *_CLEAN,
    ),
)

SA = TaskSpec(
    benchmark="dr",
    name="sa",
    title="Sentiment of reviews of products and airlines",
    kind=TaskKind.CLASSIFICATION,
    inputs=("text",),
    labels=LABELS,
    metric="macro_f1",
    train=10_000,
    validation=2_500,
    test=2_500,
    domains=(
        _category("appliances", "Appliances"),
        _category("beauty", "All_Beauty"),
        _category("books", "Books"),
        _category("games", "Video_Games"),
        _category("software", "Software"),
        _AIRLINE,
    ),
    balance=equal_labels(LABELS),
    # A third more than the required sizes, because splitting by product loses some rows of either label.
    sample=10_000,
    distinct=("text",),
    fewshot_domains=("airline", "beauty", "books"),
    notes=(
        "Amazon's full per-category files of 2018, not the 5-core subsets: those of Appliances and All Beauty have "
        "2,277 and 5,269 reviews, fewer than the paper's sizes. 1 and 2 stars are negative, 4 and 5 positive, 3 are "
        "dropped.",
        "Links are removed from the texts (appendix D.1). Each text occurs once in a domain; a text with both labels "
        "is dropped if the sample contains both rows.",
        "Splits are grouped by product and airline, so that no product is in two splits.",
    ),
)
