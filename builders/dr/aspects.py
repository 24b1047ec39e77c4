"""DR AB: aspect terms and their polarity, a tag a word."""

from builders.readers.aspect_terms import aspect_terms
from builders.readers.tagged_text import tagged_text
from builders.specs.spec import DomainSpec, FileSpec, SourceSpec, TaskSpec
from builders.specs.transforms import group_by_text, keep_tagged, keep_tokens, rename
from validation.vocabulary import TaskKind

LABELS = ("O", "T-POS", "T-NEG", "T-NEU")

TAGGED = SourceSpec(
    slug="absa",
    title="Device, laptop, restaurant and service reviews with aspect terms, as tagged text",
    url="https://github.com/hsqmlzno1/Transferable-E2E-ABSA",
    revision="e6d2280e1a4aa22049dd68e680cb638cd0a9bd69",
    licence="unclear: the repository is MIT, the SemEval texts in it may not be passed on",
    open_licence=False,
    citation=(
        "@inproceedings{li-etal-2019-transferable,\n"
        "  title = {Transferable End-to-End Aspect-based Sentiment Analysis with Selective Adversarial Learning},\n"
        "  author = {Li, Zheng and Li, Xin and Wei, Ying and Bing, Lidong and Zhang, Yu and Yang, Qiang},\n"
        "  booktitle = {Proceedings of EMNLP-IJCNLP},\n"
        "  year = {2019}\n"
        "}"
    ),
    instructions=(
        "put the files data/{device,laptop,rest,service}_{train,test}.txt of "
        "https://github.com/hsqmlzno1/Transferable-E2E-ABSA into RAW/absa/data/"
    ),
)
MAMS = SourceSpec(
    slug="mams",
    title="MAMS: restaurant sentences with several aspects of unlike polarity (ATSA)",
    url="https://github.com/siat-nlp/MAMS-for-ABSA",
    revision="cddcdb0f423b3fdb2c76b70744737abed3a00d17",
    licence="Apache-2.0",
    open_licence=True,
    citation=(
        "@inproceedings{jiang-etal-2019-challenge,\n"
        "  title = {A Challenge Dataset and Effective Models for Aspect-Based Sentiment Analysis},\n"
        "  author = {Jiang, Qingnan and Chen, Lei and Xu, Ruifeng and Ao, Xiang and Yang, Min},\n"
        "  booktitle = {Proceedings of EMNLP-IJCNLP},\n"
        "  year = {2019}\n"
        "}"
    ),
    instructions=(
        "put data/MAMS-ATSA/raw/{train,val,test}.xml of https://github.com/siat-nlp/MAMS-for-ABSA "
        "into RAW/mams/MAMS-ATSA/raw/"
    ),
)
_COLUMNS = {"tokens": "tokens", "tags": "tags", "group": "group"}


def _tagged(name: str, file: str) -> DomainSpec:
    return DomainSpec(
        name=name,
        files={split: (FileSpec(TAGGED, f"absa/data/{file}_{split}.txt", tagged_text),) for split in ("train", "test")},
        transforms=(keep_tokens(), group_by_text("tokens"), rename(_COLUMNS)),
    )


_MAMS = DomainSpec(
    name="mams",
    files={
        split: (FileSpec(MAMS, f"mams/MAMS-ATSA/raw/{file}.xml", aspect_terms),)
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
        "In whole builds train and validation of every domain have the size that service allows, which is less than "
        "the paper's.",
        "MAMS marks characters: its sentences are cut into words first, and those whose terms overlap or begin or end "
        "inside a word leave.",
        "A tag stands for being part of a term of that polarity; neighbouring terms of one polarity run together.",
        "Sentences found in both train and test stay in test; their train rows leave.",
    ),
)
