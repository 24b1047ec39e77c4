"""BOSS NLI: MultiNLI; OOD adversarial pairs, contracts, and generated pairs."""

import polars as pl

from shiftbench.builders.boss.suite import AS_UPSTREAM, candidates, suite_task
from shiftbench.builders.dr.inference import MATCHED_GENRES
from shiftbench.builders.folder.manifest import Provenance
from shiftbench.builders.readers.contract_nli import contract_nli
from shiftbench.builders.readers.delimited import quoted_csv
from shiftbench.builders.readers.json_lines import json_lines
from shiftbench.builders.readers.json_list import json_list
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, Transform, files_of
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

_MNLI = DomainSpec(
    name="mnli",
    files={
        split: (
            FileSpec(f"multinli_1.0/multinli_1.0_{file}.jsonl", _READ_PAIRS[split]),
            FileSpec(
                f"mnli_raw/multinli_1.0/multinli_1.0_{file}.jsonl",
                _READ_PAIRS[split],
                slug="multinli_1.0",
                partial=True,
            ),
            *(
                FileSpec(f"mnli_genres/{genre}_{split}.jsonl", _READ_PAIRS[split], slug="multinli_1.0", partial=True)
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
    files=files_of(
        json_lines("context", "hypothesis", "label"),
        train=[f"anli/anli_v1.0/R{number}/train.jsonl" for number in (1, 2, 3)],
        test=[f"anli/anli_v1.0/R{number}/test.jsonl" for number in (1, 2, 3)],
    ),
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
    files=files_of(
        contract_nli, train="contract_nli/contract-nli/train.json", test="contract_nli/contract-nli/test.json"
    ),
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
            FileSpec("wanli/data/wanli/train.jsonl", _READ_WANLI),
            FileSpec("wanli/data/wanli/train_sample.jsonl", _READ_WANLI, partial=True),
        ),
        "test": (FileSpec("wanli/data/wanli/test.jsonl", _READ_WANLI),),
    },
    transforms=(
        rename({"premise": "premise", "hypothesis": "hypothesis", "gold": "label"}),
        keep_labelled(LABELS),
        *_PAIR,
    ),
    provenance=Provenance(
        title="WANLI", text_sources=("Synthetic",), challenge=True, paper_rows={"train": 102_884, "test": 5_000}
    ),
)

NLI = suite_task(
    "nli",
    "Inference: MultiNLI against adversarial pairs, contracts and generated pairs",
    TaskKind.CLASSIFICATION,
    "accuracy",
    (_MNLI, _ANLI, _CONTRACT_NLI, _WANLI),
    inputs=("premise", "hypothesis"),
    labels=LABELS,
    notes=(AS_UPSTREAM,),
)

_SNLI = DomainSpec(
    name="snli",
    files={
        split: (FileSpec(f"snli/snli_1.0/snli_1.0_{split}.jsonl", _READ_PAIRS[split]),) for split in ("train", "test")
    },
    transforms=_SENTENCES,
    provenance=Provenance(title="SNLI", text_sources=("Flickr",), paper_rows={"train": 549_361, "test": 9_824}),
)
_CB = DomainSpec(
    name="cb",
    files=files_of(json_lines("premise", "hypothesis", "label"), test=("cb/CB/train.jsonl", "cb/CB/val.jsonl")),
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
    # The paper tests on the development split.
    files=files_of(
        quoted_csv("abstract", "conclusion", "label_cat"),
        train="bionli/train_df_blnc.csv",
        test="bionli/dev_df_blnc.csv",
    ),
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
    files=files_of(json_list("premise", "hypothesis", "label"), train="docnli/train.json", test="docnli/test.json"),
    transforms=(_LABELLED, keep_labelled(("entailment", NOT_ENTAILMENT)), *_PAIR),
    provenance=Provenance(
        title="DocNLI", text_sources=("News", "Wikipedia"), paper_rows={"train": 942_314, "test": 263_886}
    ),
)
NLI_CANDIDATES = candidates(
    NLI,
    "Inference: candidate data sets (Table 12)",
    _BIONLI,
    _CB,
    _DOCNLI,
    _SNLI,
    labels=(*LABELS, NOT_ENTAILMENT),
    label_folds={"neutral": NOT_ENTAILMENT, "contradiction": NOT_ENTAILMENT},
)
