"""BOSS NLI: MultiNLI; OOD pairs written against models, contracts, and generated pairs."""

import polars as pl

from shiftbench.builders.boss.differences import find_differences
from shiftbench.builders.boss.steps import AS_UPSTREAM
from shiftbench.builders.dr.inference import MATCHED_GENRES, MULTINLI
from shiftbench.builders.folder.manifest import Provenance
from shiftbench.builders.readers.contract_nli import contract_nli
from shiftbench.builders.readers.delimited import quoted_csv
from shiftbench.builders.readers.json_lines import json_lines
from shiftbench.builders.readers.json_list import json_list
from shiftbench.builders.specs.sources import find_source
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, TaskSpec, Transform
from shiftbench.builders.specs.transforms import (
    group_by,
    group_by_text,
    keep_filled,
    keep_labelled,
    label_from,
    one_space,
    remove,
    rename,
    select,
)
from shiftbench.validation.vocabulary import TaskKind

LABELS = ("entailment", "neutral", "contradiction")
NOT_ENTAILMENT = "not_entailment"

ANLI = find_source("anli")
CONTRACT_NLI = find_source("contract_nli")
WANLI = find_source("wanli")
SNLI = find_source("snli")
CB = find_source("cb")
BIONLI = find_source("bionli")
DOCNLI = find_source("docnli")
_ROUNDS = ("R1", "R2", "R3")
_PAIR = (
    one_space("premise", "hypothesis"),
    keep_filled("premise"),
    keep_filled("hypothesis"),
    group_by_text("premise"),
)
_SENTENCES = (
    rename({"sentence1": "premise", "sentence2": "hypothesis", "gold_label": "label"}, votes="annotator_labels"),
    keep_labelled(LABELS, ("-",)),
    *_PAIR,
)
_LABELLED = select("premise", "hypothesis", "label")
_READ_PAIRS = {
    "train": json_lines("gold_label", "sentence1", "sentence2"),
    "test": json_lines("gold_label", "sentence1", "sentence2", lists=("annotator_labels",)),
}
_READ_WANLI = json_lines("premise", "hypothesis", "gold")
_READ_CB = json_lines("premise", "hypothesis", "label")

_MNLI = DomainSpec(
    name="mnli",
    files={
        split: (
            FileSpec(MULTINLI, f"multinli_1.0/multinli_1.0_{file}.jsonl", _READ_PAIRS[split]),
            FileSpec(MULTINLI, f"mnli_raw/multinli_1.0/multinli_1.0_{file}.jsonl", _READ_PAIRS[split], partial=True),
            *(
                FileSpec(MULTINLI, f"mnli_genres/{genre}_{split}.jsonl", _READ_PAIRS[split], partial=True)
                for genre in MATCHED_GENRES
            ),
        )
        # MultiNLI's own test labels are not public: its matched development pairs are the test set.
        for split, file in {"train": "train", "test": "dev_matched"}.items()
    },
    transforms=_SENTENCES,
    provenance=Provenance(
        title="MNLI",
        text_sources=("Open American National Corpus",),
        breadth=10,
        paper_rows={"train": 392_662, "test": 9_815},
    ),
)
_ANLI = DomainSpec(
    name="anli",
    files={
        split: tuple(
            FileSpec(ANLI, f"anli/anli_v1.0/{name}/{split}.jsonl", json_lines("context", "hypothesis", "label"))
            for name in _ROUNDS
        )
        for split in ("train", "test")
    },
    transforms=(
        label_from("label", {label[0]: label for label in LABELS}),
        rename({"context": "premise", "hypothesis": "hypothesis", "label": "label"}),
        *_PAIR,
    ),
    provenance=Provenance(
        title="ANLI", text_sources=("Adversarial",), challenge=True, paper_rows={"train": 162_865, "test": 3_200}
    ),
)
_CONTRACT_NLI = DomainSpec(
    name="contract_nli",
    files={
        split: (FileSpec(CONTRACT_NLI, f"contract_nli/contract-nli/{split}.json", contract_nli),)
        for split in ("train", "test")
    },
    transforms=(
        label_from("choice", {"Entailment": "entailment", "NotMentioned": "neutral", "Contradiction": "contradiction"}),
        group_by("document"),
        select("premise", "hypothesis", "label", "group"),
        one_space("premise", "hypothesis"),
    ),
    provenance=Provenance(title="ContractNLI", text_sources=("Legal",), paper_rows={"train": 7_191, "test": 2_091}),
)
_WANLI = DomainSpec(
    name="wanli",
    files={
        "train": (
            FileSpec(WANLI, "wanli/data/wanli/train.jsonl", _READ_WANLI),
            FileSpec(WANLI, "wanli/data/wanli/train_sample.jsonl", _READ_WANLI, partial=True),
        ),
        "test": (FileSpec(WANLI, "wanli/data/wanli/test.jsonl", _READ_WANLI),),
    },
    transforms=(
        rename({"premise": "premise", "hypothesis": "hypothesis", "gold": "label"}),
        keep_labelled(LABELS),
        *_PAIR,
    ),
    provenance=Provenance(
        title="WANLI",
        text_sources=("Synthetic",),
        challenge=True,
        paper_rows={"train": 102_884, "test": 5_000},
    ),
)

NLI = TaskSpec(
    benchmark="boss",
    name="nli",
    title="Inference: MultiNLI against adversarial pairs, contracts and generated pairs",
    kind=TaskKind.CLASSIFICATION,
    inputs=("premise", "hypothesis"),
    labels=LABELS,
    metric="accuracy",
    domains=(_MNLI, _ANLI, _CONTRACT_NLI, _WANLI),
    as_upstream=True,
    id_domain="mnli",
    notes=(AS_UPSTREAM,),
    differences=find_differences("nli"),
)

_SNLI = DomainSpec(
    name="snli",
    files={
        split: (FileSpec(SNLI, f"snli/snli_1.0/snli_1.0_{split}.jsonl", _READ_PAIRS[split]),)
        for split in ("train", "test")
    },
    transforms=_SENTENCES,
    provenance=Provenance(title="SNLI", text_sources=("Flickr",), paper_rows={"train": 549_361, "test": 9_824}),
)
_CB = DomainSpec(
    name="cb",
    files={"test": tuple(FileSpec(CB, f"cb/CB/{split}.jsonl", _READ_CB) for split in ("train", "val"))},
    transforms=(_LABELLED, keep_labelled(LABELS), *_PAIR),
    provenance=Provenance(
        title="CB",
        text_sources=("Wall Street Journal", "British National Corpus", "Switchboard"),
        paper_rows={"test": 306},
    ),
)


def _entailed_or_not(frame: pl.DataFrame) -> pl.DataFrame:
    """Map BioNLI's kinds of pairs to labels: 'pos' is entailment, nine kinds of manipulated conclusions are not."""
    entailed = pl.col("label_cat") == "pos"
    return frame.with_columns(label=pl.when(entailed).then(pl.lit("entailment")).otherwise(pl.lit(NOT_ENTAILMENT)))


_BIONLI = DomainSpec(
    name="bionli",
    files={
        # The paper's test split is the development one.
        split: (FileSpec(BIONLI, f"bionli/{file}_df_blnc.csv", quoted_csv("abstract", "conclusion", "label_cat")),)
        for split, file in {"train": "train", "test": "dev"}.items()
    },
    transforms=(
        Transform("entailed_or_not", _entailed_or_not),
        rename({"abstract": "premise", "conclusion": "hypothesis", "label": "label"}),
        remove("premise", "<re>|<er>|<le>|<el>"),
        remove("hypothesis", "<re>|<er>|<le>|<el>"),
        *_PAIR,
    ),
    provenance=Provenance(title="BioNLI", text_sources=("Biomedical",), paper_rows={"train": 5_544, "test": 68_243}),
)
_DOCNLI = DomainSpec(
    name="docnli",
    files={
        split: (FileSpec(DOCNLI, f"docnli/{split}.json", json_list("premise", "hypothesis", "label")),)
        for split in ("train", "test")
    },
    transforms=(_LABELLED, keep_labelled(("entailment", NOT_ENTAILMENT)), *_PAIR),
    provenance=Provenance(
        title="DocNLI",
        text_sources=("News", "Wikipedia"),
        paper_rows={"train": 942_314, "test": 263_886},
    ),
)
NLI_CANDIDATES = TaskSpec(
    benchmark="boss",
    name="nli_candidates",
    title="Inference: data sets that were candidates (Table 12)",
    kind=TaskKind.CLASSIFICATION,
    inputs=("premise", "hypothesis"),
    labels=(*LABELS, NOT_ENTAILMENT),
    metric="accuracy",
    domains=(_BIONLI, _CB, _DOCNLI, _SNLI),
    as_upstream=True,
    candidates_for="nli",
    label_folds={"neutral": NOT_ENTAILMENT, "contradiction": NOT_ENTAILMENT},
    differences=find_differences("nli_candidates"),
)
