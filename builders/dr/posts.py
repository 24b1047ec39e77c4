"""DR AS: summaries of Reddit posts by their authors; domains are the topics of subreddits."""

from shiftbench.builders.readers.json_lines import json_lines
from shiftbench.builders.specs.balances import common_lengths
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, TaskSpec
from shiftbench.builders.specs.transforms import (
    group_by,
    keep_filled,
    keep_in,
    keep_words_between,
    keep_words_found,
    rename,
)
from shiftbench.builders.tables import subreddits
from shiftbench.validation.vocabulary import TaskKind

_READ = json_lines("author", "content", "summary", optional=("subreddit",))


def _topic(name: str) -> DomainSpec:
    return DomainSpec(
        name=name,
        files={"train": (FileSpec("tldr17/corpus-webis-tldr-17.json", _READ),)},
        transforms=(
            keep_in("subreddit", subreddits(name), f"keep_subreddits_of_{name}"),
            keep_filled("content"),
            keep_filled("summary"),
            group_by("author", unknown="[deleted]", text="content"),
            rename({"content": "source_text", "summary": "target_text", "group": "group"}),
            keep_words_between("target_text", 15, 60),
            keep_words_found("target_text", "source_text", 0.75),
        ),
    )


AS = TaskSpec(
    benchmark="dr",
    name="as",
    title="Abstractive summaries of posts by topic",
    kind=TaskKind.GENERATION,
    inputs=("source_text",),
    labels=(),
    metric="bertscore_f1",
    train=10_000,
    validation=1_000,
    test=500,
    domains=tuple(_topic(name) for name in ("drugs", "fitness", "lol", "politics", "relationships")),
    balance=common_lengths(5),
    # Three times the required sizes, so that length distributions can be matched.
    sample=34_500,
    distinct=("source_text",),
    fewshot_domains=("fitness", "lol", "relationships"),
    notes=(
        "The paper's mapping of subreddits to domains is not public; ours is in builders/tables.",
        "Summaries have 15 to 60 words, and at least 75% of their distinct words are in the post (appendix D.1).",
        "In complete builds, summary lengths have the same distribution in all domains (in bins of five words). Each "
        "author is in one split only.",
    ),
)
