"""BOSS NER: Wikipedia; OOD news, company filings to the SEC, and social media posts."""

from shiftbench.builders.boss import tag_maps
from shiftbench.builders.boss.suite import candidates, suite_task
from shiftbench.builders.folder.manifest import Provenance
from shiftbench.builders.readers.token_lines import token_lines
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, files_of
from shiftbench.builders.specs.tagging import bio_tags
from shiftbench.builders.specs.transforms import group_by, group_by_text, keep_tokens, select
from shiftbench.validation.vocabulary import TaskKind

LABELS = ("O", *(f"{begins}-{type_}" for type_ in tag_maps.TYPES for begins in "BI"))

_COLUMNS = select("tokens", "tags", "group")
_SENTENCE = (keep_tokens(), group_by_text("tokens"), _COLUMNS)
_DOCUMENT = (keep_tokens(), group_by("document"), _COLUMNS)
_TAB = token_lines()

_FEW_NERD = DomainSpec(
    name="few_nerd",
    files={
        split: (
            FileSpec(f"few_nerd/supervised/{split}.txt", _TAB),
            # Partial builds may read the INTER setting instead: sentences of the same release, in which only the entity
            # types of that split are annotated.
            FileSpec(f"few_nerd/inter/{split}.txt", _TAB, partial=True),
        )
        for split in ("train", "test")
    },
    transforms=(bio_tags(tag_maps.FEW_NERD, "io"), *_SENTENCE),
    provenance=Provenance(
        title="Few-NERD", text_sources=("Wikipedia",), breadth=66, paper_rows={"train": 131_768, "test": 37_649}
    ),
)
_CONLL = DomainSpec(
    name="conll",
    files=files_of(token_lines(" ", tag=3), train="conll2003/eng.train", test="conll2003/eng.testb"),
    transforms=(bio_tags(tag_maps.CONLL, "iob1"), *_DOCUMENT),
    provenance=Provenance(title="CoNLL", text_sources=("Reuters",), paper_rows={"train": 14_042, "test": 3_454}),
)
_E_NER = DomainSpec(
    name="e_ner",
    files=files_of(token_lines(" "), test="e_ner/edgar_all_4.csv"),
    transforms=(bio_tags(tag_maps.E_NER, "iob1"), *_DOCUMENT),
    provenance=Provenance(title="E-NER", text_sources=("Legal",), paper_rows={"test": 11_692}),
)
_WNUT = DomainSpec(
    name="wnut",
    files=files_of(_TAB, train="wnut17/wnut17train.conll", test="wnut17/emerging.test.annotated"),
    transforms=(bio_tags(tag_maps.WNUT, "bio"), *_SENTENCE),
    provenance=Provenance(
        title="WNUT",
        text_sources=("YouTube", "Twitter", "StackExchange", "Reddit"),
        paper_rows={"train": 3_395, "test": 1_288},
    ),
)

NER = suite_task(
    "ner",
    "Named entities: Wikipedia against news, filings and posts",
    TaskKind.TAGGING,
    "span_f1",
    (_FEW_NERD, _CONLL, _E_NER, _WNUT),
    inputs=("tokens",),
    labels=LABELS,
    notes=(
        "Tags are mapped to Few-NERD's coarse types; types that a data set does not annotate are O.",
        "Partial builds may read Few-NERD's INTER setting, in which only some fine types are marked; the rest is O.",
        "Some tokens of E-NER contain quotes around a comma, as in the authors' file; tokens and tags are unchanged.",
    ),
)
_CROSSNER = DomainSpec(
    name="crossner",
    files={
        split: tuple(
            FileSpec(f"crossner/ner_data/{domain}/{split}.txt", _TAB)
            for domain in ("ai", "literature", "music", "politics", "science")
        )
        for split in ("train", "test")
    },
    transforms=(bio_tags(tag_maps.CROSSNER, "bio"), *_SENTENCE),
    provenance=Provenance(
        title="CrossNER", text_sources=("Wikipedia",), breadth=5, paper_rows={"train": 701, "test": 2_507}
    ),
)
NER_CANDIDATES = candidates(NER, "Named entities: the candidate data set (Table 15)", _CROSSNER)
