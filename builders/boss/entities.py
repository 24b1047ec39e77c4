"""BOSS NER: Wikipedia; OOD news, filings to the stock exchange authority, and posts."""

from builders.boss import tag_maps
from builders.folder.manifest import Provenance
from builders.readers.token_lines import token_lines
from builders.specs.spec import DomainSpec, FileSpec, SourceSpec, TaskSpec
from builders.specs.tagging import bio_tags
from builders.specs.transforms import group_by, group_by_text, keep_tokens, select
from validation.vocabulary import TaskKind

LABELS = ("O", *(f"{begins}-{type_}" for type_ in tag_maps.TYPES for begins in "BI"))

FEW_NERD = SourceSpec(
    slug="few_nerd",
    title="Few-NERD, supervised setting",
    url="https://github.com/thunlp/Few-NERD",
    revision="supervised",
    licence="CC BY-SA 4.0",
    open_licence=True,
    citation=(
        "@inproceedings{ding-etal-2021-nerd,\n"
        "  title = {Few-{NERD}: A Few-shot Named Entity Recognition Dataset},\n"
        "  author = {Ding, Ning and Xu, Guangwei and Chen, Yulin and Wang, Xiaobin and Han, Xu and Xie, Pengjun "
        "and Zheng, "
        "Haitao and Liu, Zhiyuan},\n"
        "  booktitle = {Proceedings of ACL-IJCNLP},\n"
        "  year = {2021}\n"
        "}"
    ),
    instructions=(
        "unpack the supervised set that https://github.com/thunlp/Few-NERD links to into RAW/few_nerd/, so that "
        "RAW/few_nerd/supervised/train.txt exists"
    ),
)
CONLL = SourceSpec(
    slug="conll2003",
    title="CoNLL-2003, English",
    url="https://www.clips.uantwerpen.be/conll2003/ner/",
    revision="2003",
    licence="Reuters corpus, closed",
    open_licence=False,
    citation=(
        "@inproceedings{tjong-kim-sang-de-meulder-2003-introduction,\n"
        "  title = {Introduction to the {C}o{NLL}-2003 Shared Task: Language-Independent Named Entity Recognition},\n"
        "  author = {Tjong Kim Sang, Erik F. and De Meulder, Fien},\n"
        "  booktitle = {Proceedings of CoNLL at HLT-NAACL},\n"
        "  year = {2003}\n"
        "}"
    ),
    instructions=(
        "its texts are the Reuters Corpus, for which NIST gives licences "
        "(https://trec.nist.gov/data/reuters/reuters.html); "
        "with one, build eng.train and eng.testb as https://www.clips.uantwerpen.be/conll2003/ner/ says and put "
        "them into "
        "RAW/conll2003/"
    ),
)
E_NER = SourceSpec(
    slug="e_ner",
    title="E-NER, four classes: filings at the SEC",
    url="https://github.com/terenceau2/E-NER-Dataset",
    revision="4efb293384401081f166bb78c7da8148f2341929",
    licence="CC BY-NC-SA 4.0",
    open_licence=True,
    citation=(
        "@inproceedings{au-etal-2022-e,\n"
        "  title = {{E}-{NER} -- An Annotated Named Entity Recognition Corpus of Legal Text},\n"
        "  author = {Au, Ting Wai Terence and Lampos, Vasileios and Cox, Ingemar},\n"
        "  booktitle = {Proceedings of the Natural Legal Language Processing Workshop},\n"
        "  year = {2022}\n"
        "}"
    ),
    instructions="put edgar_all_4.csv of https://github.com/terenceau2/E-NER-Dataset into RAW/e_ner/",
)
WNUT = SourceSpec(
    slug="wnut17",
    title="WNUT 2017: novel and emerging entities",
    url="https://github.com/leondz/emerging_entities_17",
    revision="e52a2d2a71ac1a051ca2d532eef28653c5c02603",
    licence="CC BY 4.0",
    open_licence=True,
    citation=(
        "@inproceedings{derczynski-etal-2017-results,\n"
        "  title = {Results of the {WNUT}2017 Shared Task on Novel and Emerging Entity Recognition},\n"
        "  author = {Derczynski, Leon and Nichols, Eric and van Erp, Marieke and Limsopatham, Nut},\n"
        "  booktitle = {Proceedings of the 3rd Workshop on Noisy User-generated Text},\n"
        "  year = {2017}\n"
        "}"
    ),
    instructions=(
        "put wnut17train.conll and emerging.test.annotated of https://github.com/leondz/emerging_entities_17 into "
        "RAW/wnut17/"
    ),
)
CROSSNER = SourceSpec(
    slug="crossner",
    title="CrossNER, five domains of Wikipedia",
    url="https://github.com/zliucr/CrossNER",
    revision="2e7ba2a7798c961e3f29fbc51252c5a8d40224bf",
    licence="MIT",
    open_licence=True,
    citation=(
        "@inproceedings{liu-etal-2021-crossner,\n"
        "  title = {{C}ross{NER}: Evaluating Cross-Domain Named Entity Recognition},\n"
        "  author = {Liu, Zihan and Xu, Yan and Yu, Tiezheng and Dai, Wenliang and Ji, Ziwei and Cahyawijaya, "
        "Samuel and "
        "Madotto, Andrea and Fung, Pascale},\n"
        "  booktitle = {Proceedings of AAAI},\n"
        "  year = {2021}\n"
        "}"
    ),
    instructions="put the folder ner_data of https://github.com/zliucr/CrossNER into RAW/crossner/",
)
_EMPTY_SENTENCE = "the papers' code counts an empty sentence at the end of each file"
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
        differs=_EMPTY_SENTENCE,
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
        differs=_EMPTY_SENTENCE,
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
        differs="the papers' code takes 51 of the 52 -DOCSTART- marks for sentences, and counts an empty one at "
        "the end",
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
        differs=_EMPTY_SENTENCE,
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
        "Few-NERD marks no beginnings: neighbouring words of one fine type are one entity. CoNLL and E-NER mark them "
        "only between neighbours of one type.",
        "Partial builds may read Few-NERD's INTER setting, in which only some fine types are marked; the rest is O.",
        "E-NER's tokens of quotes around a comma, its makers' way of writing one, stay, and so do their tags.",
        "-DOCSTART- lines and blank lines at the end are no sentences.",
    ),
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
        differs=_EMPTY_SENTENCE,
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
)
