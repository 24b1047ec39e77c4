"""The Domain Robustness benchmark: its tasks and domains, as literals.

Source: Domain Robustness paper, sec. 4, Table 2 (sizes) and appendix D (processing).
"""

from builders.readers import json_lines
from builders.specs import DomainSpec, SourceSpec, TaskSpec
from builders.transforms import group_by_text, keep_labelled, keep_value, rename
from validation.vocabulary import TaskKind

NLI_LABELS = ("entailment", "neutral", "contradiction")

MULTINLI = SourceSpec(
    slug="multinli_1.0",
    title="MultiNLI 1.0, the five genres of its matched section",
    url="https://cims.nyu.edu/~sbowman/multinli/",
    revision="1.0",
    licence="OANC, CC BY 3.0 and CC BY-SA 3.0, by genre",
    citation=(
        "@inproceedings{williams-etal-2018-broad,\n"
        "  title = {A Broad-Coverage Challenge Corpus for Sentence Understanding through Inference},\n"
        "  author = {Williams, Adina and Nangia, Nikita and Bowman, Samuel},\n"
        "  booktitle = {Proceedings of NAACL-HLT},\n"
        "  year = {2018}\n"
        "}"
    ),
    instructions=(
        "download multinli_1.0.zip from https://cims.nyu.edu/~sbowman/multinli/ and unpack it, so that "
        "RAW/multinli_1.0/multinli_1.0_train.jsonl exists; or put one file a genre and split at "
        "RAW/mnli_genres/<genre>_<train|test>.jsonl"
    ),
)


def _genre(name: str) -> DomainSpec:
    return DomainSpec(
        name=name,
        source=MULTINLI,
        files={
            "train": ("multinli_1.0/multinli_1.0_train.jsonl", f"mnli_genres/{name}_train.jsonl"),
            # MultiNLI's own test labels are not public: its matched development pairs are the test set.
            "test": ("multinli_1.0/multinli_1.0_dev_matched.jsonl", f"mnli_genres/{name}_test.jsonl"),
        },
        read=json_lines("gold_label", "genre", "sentence1", "sentence2"),
        transforms=(
            keep_value("genre", name),
            rename({"sentence1": "premise", "sentence2": "hypothesis", "gold_label": "label"}),
            keep_labelled(NLI_LABELS),
            group_by_text("premise"),
        ),
    )


NLI = TaskSpec(
    benchmark="dr",
    name="nli",
    title="Natural language inference across the genres of MultiNLI",
    kind=TaskKind.CLASSIFICATION,
    inputs=("premise", "hypothesis"),
    labels=NLI_LABELS,
    metric="macro_f1",
    train=50_000,
    validation=2_500,
    domains=tuple(_genre(name) for name in ("fiction", "government", "slate", "telephone", "travel")),
    fewshot_domains=("fiction", "telephone", "travel"),
    notes=(
        "The test split is MultiNLI's matched development section (the official test labels are not public); "
        "its domains differ slightly in size, as in the paper.",
        "Premises found in both train and test stay in test; their train rows leave.",
    ),
)

TITLE = "Domain Robustness (DR)"
TASKS = (NLI,)
