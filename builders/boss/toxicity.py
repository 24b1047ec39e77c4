"""BOSS TD: comments on news; OOD adversarial comments, implicitly hateful tweets, and generated statements."""

import polars as pl

from shiftbench.builders.boss.suite import AS_UPSTREAM, LABELLED_TEXT, TEXT, candidates, suite_task
from shiftbench.builders.folder.manifest import Provenance
from shiftbench.builders.readers.delimited import quoted_csv, raw_tsv
from shiftbench.builders.readers.parquet_rows import parquet_rows
from shiftbench.builders.readers.text_folder import listed_texts
from shiftbench.builders.readers.with_sibling import WithSibling
from shiftbench.builders.specs.balances import by_label
from shiftbench.builders.specs.spec import DomainSpec, Draw, FileSpec, Transform, files_of
from shiftbench.builders.specs.transforms import (
    clean_tweets,
    group_by,
    keep_filled,
    label_by_threshold,
    label_from,
    one_space,
    rename,
)
from shiftbench.validation.vocabulary import TaskKind

LABELS = ("benign", "toxic")

_CIVIL_TRAIN_PER_LABEL = 30_000

_CIVIL_COMMENTS = DomainSpec(
    name="civil_comments",
    files=files_of(
        parquet_rows("text", "toxicity"),
        train=[f"civil_comments/train-0000{part}-of-00002.parquet" for part in range(2)],
        test="civil_comments/test-00000-of-00001.parquet",
    ),
    transforms=(label_by_threshold("toxicity", 0.5, LABELS), LABELLED_TEXT, *TEXT),
    # Each of the two train files is sampled while it is read; their union is then cut to the same number per label.
    draw=Draw(_CIVIL_TRAIN_PER_LABEL, stratum=by_label(LABELS)),
    train_per_label=_CIVIL_TRAIN_PER_LABEL,
    provenance=Provenance(
        title="Civil Comments",
        text_sources=("Civil Comments",),
        breadth=24,
        paper_rows={"train": 60_000, "test": 97_320},
    ),
)
_ADV_CIVIL = DomainSpec(
    name="adv_civil",
    # Written by pandas: a text that contains a quote or a tab is quoted.
    files=files_of(quoted_csv("Text", "Label", separator="\t"), test="adv_civil/adv_civil.tsv"),
    transforms=(label_from("Label", {"0": "benign", "1": "toxic"}), rename({"Text": "text", "label": "label"}), *TEXT),
    provenance=Provenance(
        title="AdvCivil",
        text_sources=("Adversarial",),
        challenge=True,
        made_from="Civil Comments",
        paper_rows={"test": 823},
    ),
)
_IMPLICIT_HATE = DomainSpec(
    name="implicit_hate",
    files=files_of(raw_tsv("post", "class"), test="implicit_hate/implicit_hate_v1_stg1_posts.tsv"),
    transforms=(
        label_from("class", {"not_hate": "benign", "implicit_hate": "toxic", "explicit_hate": "toxic"}),
        rename({"post": "text", "label": "label"}),
        *TEXT,
    ),
    provenance=Provenance(title="Implicit Hate", text_sources=("Twitter",), paper_rows={"test": 21_480}),
)
_TOXIGEN = DomainSpec(
    name="toxigen",
    files=files_of(
        parquet_rows("text", "toxicity_ai", "toxicity_human"),
        train="toxigen/annotated/train-00000-of-00001.parquet",
        test="toxigen/annotated/test-00000-of-00001.parquet",
    ),
    transforms=(
        Transform(
            "mean_toxicity",
            lambda frame: frame.with_columns(
                toxicity=pl.mean_horizontal(pl.col("toxicity_ai", "toxicity_human").cast(pl.Float64)).cast(pl.String)
            ),
        ),
        label_by_threshold("toxicity", 3, LABELS),
        LABELLED_TEXT,
        *TEXT,
    ),
    provenance=Provenance(
        title="ToxiGen",
        text_sources=("Synthetic",),
        breadth=13,
        challenge=True,
        paper_rows={"train": 8_960, "test": 940},
    ),
)

TD = suite_task(
    "td",
    "Toxicity: comments of news readers against adversarial, implicit and generated ones",
    TaskKind.CLASSIFICATION,
    "accuracy",
    (_CIVIL_COMMENTS, _ADV_CIVIL, _IMPLICIT_HATE, _TOXIGEN),
    inputs=("text",),
    labels=LABELS,
    notes=(
        AS_UPSTREAM,
        "Only the train split of Civil Comments has balanced labels.",
    ),
)

_ABUSE_ANALYZER = DomainSpec(
    name="abuse_analyzer",
    files={"train": (FileSpec("abuse_analyzer/AbuseAnalyzer_Dataset.tsv", raw_tsv("Post Text", "Hate/Non-Hate")),)},
    transforms=(
        label_from("Hate/Non-Hate", {"1": "benign", "2": "toxic"}),
        rename({"Post Text": "text", "label": "label"}),
        clean_tweets("text"),
        *TEXT,
    ),
    test_share=0.2,
    provenance=Provenance(title="AbuseAnalyzer", text_sources=("Grab",), paper_rows={"train": 6_080, "test": 1_520}),
)
_HATE_SPEECH = DomainSpec(
    name="hate_speech",
    files={
        "train": (
            FileSpec(
                "hate_speech/annotations_metadata.csv",
                listed_texts("file_id", "label", folder="all_files"),
                beside=("all_files",),
            ),
        )
    },
    transforms=(
        # Drop sentences that are hateful only in context (relation) and those not in English.
        label_from("label", {"noHate": "benign", "hate": "toxic"}, ("relation", "idk/skip")),
        Transform(
            "post_of_sentence", lambda frame: frame.with_columns(post=pl.col("file_id").str.replace(r"_\d+$", ""))
        ),
        group_by("post"),
        rename({"text": "text", "label": "label", "group": "group"}),
        one_space("text"),
        keep_filled("text"),
    ),
    test_share=0.2,
    provenance=Provenance(
        title="Hate Speech", text_sources=("Stormfront",), paper_rows={"train": 8_562, "test": 2_141}
    ),
)
_HSOL = DomainSpec(
    name="hsol",
    files={"train": (FileSpec("hsol/data/labeled_data.csv", quoted_csv("class", "tweet")),)},
    transforms=(
        label_from("class", {"0": "toxic", "1": "toxic", "2": "benign"}),
        rename({"tweet": "text", "label": "label"}),
        *TEXT,
    ),
    test_share=0.3,
    provenance=Provenance(title="HSOL", text_sources=("Twitter",), paper_rows={"train": 5_823, "test": 2_485}),
)
_OLID_LABELS = "labels-levela.csv"
_OLID_TEST = WithSibling(
    read=quoted_csv("id", "tweet", separator="\t"),
    sibling=_OLID_LABELS,
    read_sibling=quoted_csv("id", "subtask_a", header=("id", "subtask_a")),
    on="id",
)
_OLID = DomainSpec(
    name="olid",
    files={
        "train": (FileSpec("olid/OLIDv1.0/olid-training-v1.0.tsv", quoted_csv("tweet", "subtask_a", separator="\t")),),
        "test": (FileSpec("olid/OLIDv1.0/testset-levela.tsv", _OLID_TEST, beside=(_OLID_LABELS,)),),
    },
    transforms=(
        label_from("subtask_a", {"NOT": "benign", "OFF": "toxic"}),
        rename({"tweet": "text", "label": "label"}),
        clean_tweets("text"),
        *TEXT,
    ),
    provenance=Provenance(title="OLID", text_sources=("Twitter",), paper_rows={"train": 13_240, "test": 860}),
)
TD_CANDIDATES = candidates(TD, "Toxicity: candidate data sets (Table 9)", _ABUSE_ANALYZER, _HATE_SPEECH, _HSOL, _OLID)
