"""BOSS NLI: MultiNLI; OOD pairs written against models, contracts, and generated pairs."""

import polars as pl

from builders.boss.steps import AS_UPSTREAM
from builders.dr.inference import MATCHED_GENRES, MULTINLI
from builders.folder.manifest import Provenance
from builders.readers.contract_nli import contract_nli
from builders.readers.delimited import quoted_csv
from builders.readers.json_lines import json_lines
from builders.readers.json_list import json_list
from builders.specs.spec import DomainSpec, FileSpec, SourceSpec, TaskSpec, Transform
from builders.specs.transforms import (
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
from validation.vocabulary import TaskKind

LABELS = ("entailment", "neutral", "contradiction")
NOT_ENTAILMENT = "not_entailment"

ANLI = SourceSpec(
    slug="anli",
    title="Adversarial NLI v1.0, rounds 1 to 3",
    url="https://github.com/facebookresearch/anli",
    revision="v1.0",
    licence="CC BY-NC 4.0",
    open_licence=True,
    citation=(
        "@inproceedings{nie-etal-2020-adversarial,\n"
        "  title = {Adversarial {NLI}: A New Benchmark for Natural Language Understanding},\n"
        "  author = {Nie, Yixin and Williams, Adina and Dinan, Emily and Bansal, Mohit and Weston, Jason and Kiela, "
        "Douwe},\n"
        "  booktitle = {Proceedings of ACL},\n"
        "  year = {2020}\n"
        "}"
    ),
    instructions=(
        "unpack anli_v1.0.zip (linked at https://github.com/facebookresearch/anli) into RAW/anli/, so that "
        "RAW/anli/anli_v1.0/R1/train.jsonl exists"
    ),
)
CONTRACT_NLI = SourceSpec(
    slug="contract_nli",
    title="ContractNLI",
    url="https://stanfordnlp.github.io/contract-nli/",
    revision="2021",
    licence="CC BY 4.0",
    open_licence=True,
    citation=(
        "@inproceedings{koreeda-manning-2021-contractnli,\n"
        "  title = {{C}ontract{NLI}: A Dataset for Document-level Natural Language Inference for Contracts},\n"
        "  author = {Koreeda, Yuta and Manning, Christopher D.},\n"
        "  booktitle = {Findings of EMNLP},\n"
        "  year = {2021}\n"
        "}"
    ),
    instructions=(
        "unpack contract-nli.zip of https://stanfordnlp.github.io/contract-nli/ into RAW/contract_nli/, so that "
        "RAW/contract_nli/contract-nli/train.json exists"
    ),
)
WANLI = SourceSpec(
    slug="wanli",
    title="WANLI",
    url="https://huggingface.co/datasets/alisawuffles/WANLI",
    revision="17190b51baee",
    licence="CC BY 4.0",
    open_licence=True,
    citation=(
        "@inproceedings{liu-etal-2022-wanli,\n"
        "  title = {{WANLI}: Worker and {AI} Collaboration for Natural Language Inference Dataset Creation},\n"
        "  author = {Liu, Alisa and Swayamdipta, Swabha and Smith, Noah A. and Choi, Yejin},\n"
        "  booktitle = {Findings of EMNLP},\n"
        "  year = {2022}\n"
        "}"
    ),
    instructions=(
        "put train.jsonl and test.jsonl of https://huggingface.co/datasets/alisawuffles/WANLI into "
        "RAW/wanli/data/wanli/"
    ),
)
SNLI = SourceSpec(
    slug="snli",
    title="SNLI 1.0",
    url="https://nlp.stanford.edu/projects/snli/",
    revision="1.0",
    licence="CC BY-SA 4.0",
    open_licence=True,
    citation=(
        "@inproceedings{bowman-etal-2015-large,\n"
        "  title = {A large annotated corpus for learning natural language inference},\n"
        "  author = {Bowman, Samuel R. and Angeli, Gabor and Potts, Christopher and Manning, Christopher D.},\n"
        "  booktitle = {Proceedings of EMNLP},\n"
        "  year = {2015}\n"
        "}"
    ),
    instructions=(
        "unpack snli_1.0.zip of https://nlp.stanford.edu/projects/snli/ into RAW/snli/, so that "
        "RAW/snli/snli_1.0/snli_1.0_train.jsonl exists"
    ),
)
CB = SourceSpec(
    slug="cb",
    title="CommitmentBank, as SuperGLUE has it",
    url="https://super.gluebenchmark.com/tasks",
    revision="v2",
    licence="unclear",
    open_licence=False,
    citation=(
        "@inproceedings{de-marneffe-etal-2019-commitmentbank,\n"
        "  title = {The {C}ommitment{B}ank: Investigating projection in naturally occurring discourse},\n"
        "  author = {de Marneffe, Marie-Catherine and Simons, Mandy and Tonhauser, Judith},\n"
        "  booktitle = {Proceedings of Sinn und Bedeutung},\n"
        "  year = {2019}\n"
        "}"
    ),
    instructions=(
        "unpack CB.zip of https://super.gluebenchmark.com/tasks into RAW/cb/, so that RAW/cb/CB/train.jsonl exists"
    ),
)
BIONLI = SourceSpec(
    slug="bionli",
    title="BioNLI",
    url="https://github.com/StonyBrookNLP/BioNLI",
    revision="unversioned",
    licence="CC BY 4.0",
    open_licence=True,
    citation=(
        "@inproceedings{bastan-etal-2022-bionli,\n"
        "  title = {{B}io{NLI}: Generating a Biomedical {NLI} Dataset Using Lexico-semantic Constraints for "
        "Adversarial "
        "Examples},\n"
        "  author = {Bastan, Mohaddeseh and Surdeanu, Mihai and Balasubramanian, Niranjan},\n"
        "  booktitle = {Findings of EMNLP},\n"
        "  year = {2022}\n"
        "}"
    ),
    instructions=(
        "put train_df_blnc.csv and dev_df_blnc.csv of the balanced set that https://github.com/StonyBrookNLP/BioNLI "
        "links to into RAW/bionli/"
    ),
)
DOCNLI = SourceSpec(
    slug="docnli",
    title="DocNLI",
    url="https://github.com/salesforce/DocNLI",
    revision="unversioned",
    licence="BSD-3-Clause repository; news texts of others in it",
    open_licence=False,
    citation=(
        "@inproceedings{yin-etal-2021-docnli,\n"
        "  title = {{D}oc{NLI}: A Large-scale Dataset for Document-level Natural Language Inference},\n"
        "  author = {Yin, Wenpeng and Radev, Dragomir and Xiong, Caiming},\n"
        "  booktitle = {Findings of ACL-IJCNLP},\n"
        "  year = {2021}\n"
        "}"
    ),
    instructions="put train.json and test.json of https://github.com/salesforce/DocNLI into RAW/docnli/",
)
_ROUNDS = ("R1", "R2", "R3")
_PAIR = (
    one_space("premise", "hypothesis"),
    keep_filled("premise"),
    keep_filled("hypothesis"),
    group_by_text("premise"),
)
_SENTENCES = (
    rename({"sentence1": "premise", "sentence2": "hypothesis", "gold_label": "label"}),
    keep_labelled(LABELS, ("-",)),
    *_PAIR,
)
_LABELLED = select("premise", "hypothesis", "label")
_READ_PAIRS = json_lines("gold_label", "sentence1", "sentence2")
_READ_WANLI = json_lines("premise", "hypothesis", "gold")
_READ_CB = json_lines("premise", "hypothesis", "label")
_LOST = "the authors' code lost {} rows whose text reads as missing, such as 'n/a'"

_MNLI = DomainSpec(
    name="mnli",
    files={
        split: (
            FileSpec(MULTINLI, f"multinli_1.0/multinli_1.0_{file}.jsonl", _READ_PAIRS),
            FileSpec(MULTINLI, f"mnli_raw/multinli_1.0/multinli_1.0_{file}.jsonl", _READ_PAIRS, partial=True),
            *(
                FileSpec(MULTINLI, f"mnli_genres/{genre}_{split}.jsonl", _READ_PAIRS, partial=True)
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
        differs=_LOST.format(40),
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
        differs=_LOST.format("one of its"),
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
    notes=(
        AS_UPSTREAM,
        "The test split of MNLI is its matched development section.",
        "ContractNLI: a row is a whole contract with one of 17 hypotheses.",
        "ANLI's rounds 1 to 3 are one data set; its licence is for non-commercial use.",
    ),
)

_SNLI = DomainSpec(
    name="snli",
    files={
        split: (FileSpec(SNLI, f"snli/snli_1.0/snli_1.0_{split}.jsonl", _READ_PAIRS),) for split in ("train", "test")
    },
    transforms=_SENTENCES,
    provenance=Provenance(
        title="SNLI", text_sources=("Flickr",), paper_rows={"train": 549_361, "test": 9_824}, differs=_LOST.format(6)
    ),
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
    """Make the label from BioNLI's kinds of pairs: 'pos', and nine kinds of manipulated conclusions."""
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
        differs="the paper leaves out 3,200 test rows that come from ANLI; they are not marked as such and stay here",
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
    notes=(
        "BioNLI and DocNLI tell entailment from all else: a prediction of neutral or contradiction counts as "
        "not_entailment there.",
        "CB's train and development rows together are the test split, as in the paper; its own test labels are not "
        "public.",
    ),
)
