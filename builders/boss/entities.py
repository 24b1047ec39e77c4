"""BOSS NER: Wikipedia; OOD news, filings to the stock exchange authority, and posts."""

from shiftbench.builders.boss import tag_maps
from shiftbench.builders.boss.differences import find_differences
from shiftbench.builders.folder.manifest import Provenance
from shiftbench.builders.readers.token_lines import token_lines
from shiftbench.builders.specs.sources import find_source
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, TaskSpec
from shiftbench.builders.specs.tagging import bio_tags
from shiftbench.builders.specs.transforms import group_by, group_by_text, keep_tokens, select
from shiftbench.validation.vocabulary import TaskKind

LABELS = ("O", *(f"{begins}-{type_}" for type_ in tag_maps.TYPES for begins in "BI"))

FEW_NERD = find_source("few_nerd")
CONLL = find_source("conll2003")
E_NER = find_source("e_ner")
WNUT = find_source("wnut17")
CROSSNER = find_source("crossner")
_COLUMNS = select("tokens", "tags", "group")
_SENTENCE = (keep_tokens(), group_by_text("tokens"), _COLUMNS)
_DOCUMENT = (keep_tokens(), group_by("document"), _COLUMNS)
_TAB = token_lines()

_FEW_NERD = DomainSpec(
    name="few_nerd",
    files={
        split: (
            FileSpec(FEW_NERD, f"few_nerd/supervised/{split}.txt", _TAB),
            # The INTER setting holds sentences of the same release, other entities unmarked.
            FileSpec(FEW_NERD, f"few_nerd/inter/{split}.txt", _TAB, partial=True),
        )
        for split in ("train", "test")
    },
    transforms=(bio_tags(tag_maps.FEW_NERD, "io"), *_SENTENCE),
    provenance=Provenance(
        title="Few-NERD",
        text_sources=("Wikipedia",),
        breadth=66,
        paper_rows={"train": 131_768, "test": 37_649},
    ),
)
_CONLL = DomainSpec(
    name="conll",
    files={
        split: (FileSpec(CONLL, f"conll2003/{file}", token_lines(" ", tag=3)),)
        for split, file in {"train": "eng.train", "test": "eng.testb"}.items()
    },
    transforms=(bio_tags(tag_maps.CONLL, "iob1"), *_DOCUMENT),
    provenance=Provenance(
        title="CoNLL",
        text_sources=("Reuters",),
        paper_rows={"train": 14_042, "test": 3_454},
    ),
)
_E_NER = DomainSpec(
    name="e_ner",
    files={"test": (FileSpec(E_NER, "e_ner/edgar_all_4.csv", token_lines(" ")),)},
    transforms=(bio_tags(tag_maps.E_NER, "iob1"), *_DOCUMENT),
    provenance=Provenance(
        title="E-NER",
        text_sources=("Legal",),
        paper_rows={"test": 11_692},
    ),
)
_WNUT = DomainSpec(
    name="wnut",
    files={
        "train": (FileSpec(WNUT, "wnut17/wnut17train.conll", _TAB),),
        "test": (FileSpec(WNUT, "wnut17/emerging.test.annotated", _TAB),),
    },
    transforms=(bio_tags(tag_maps.WNUT, "bio"), *_SENTENCE),
    provenance=Provenance(
        title="WNUT",
        text_sources=("YouTube", "Twitter", "StackExchange", "Reddit"),
        paper_rows={"train": 3_395, "test": 1_288},
    ),
)

NER = TaskSpec(
    benchmark="boss",
    name="ner",
    title="Named entities: Wikipedia against news, filings and posts",
    kind=TaskKind.TAGGING,
    inputs=("tokens",),
    labels=LABELS,
    metric="span_f1",
    domains=(_FEW_NERD, _CONLL, _E_NER, _WNUT),
    as_upstream=True,
    id_domain="few_nerd",
    notes=(
        "Tags of all data sets are those of Few-NERD's coarse types; types that a data set does not know are O there.",
        "Partial builds may read Few-NERD's INTER setting, in which only some fine types are marked; the rest is O.",
        "E-NER's tokens of quotes around a comma, its makers' way of writing one, stay, and so do their tags.",
    ),
    differences=find_differences("ner"),
)
_CROSSNER = DomainSpec(
    name="crossner",
    files={
        split: tuple(
            FileSpec(CROSSNER, f"crossner/ner_data/{domain}/{split}.txt", _TAB)
            for domain in ("ai", "literature", "music", "politics", "science")
        )
        for split in ("train", "test")
    },
    transforms=(bio_tags(tag_maps.CROSSNER, "bio"), *_SENTENCE),
    provenance=Provenance(
        title="CrossNER",
        text_sources=("Wikipedia",),
        breadth=5,
        paper_rows={"train": 701, "test": 2_507},
    ),
)
NER_CANDIDATES = TaskSpec(
    benchmark="boss",
    name="ner_candidates",
    title="Named entities: the data set that was a candidate (Table 15)",
    kind=TaskKind.TAGGING,
    inputs=("tokens",),
    labels=LABELS,
    metric="span_f1",
    domains=(_CROSSNER,),
    as_upstream=True,
    candidates_for="ner",
    differences=find_differences("ner_candidates"),
)
