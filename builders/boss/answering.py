"""BOSS EQA: SQuAD; OOD questions written against models, about news, and from a quiz with search results."""

from builders.folder.manifest import Provenance
from builders.readers.mrqa import mrqa
from builders.readers.squad import squad
from builders.specs.spec import DomainSpec, FileSpec, SourceSpec, TaskSpec
from builders.specs.transforms import group_by, group_by_text, keep_filled, select
from validation.vocabulary import TaskKind

SQUAD = SourceSpec(
    slug="squad_v1",
    title="SQuAD 1.1",
    url="https://rajpurkar.github.io/SQuAD-explorer/",
    revision="v1.1",
    licence="CC BY-SA 4.0",
    open_licence=True,
    citation=(
        "@inproceedings{rajpurkar-etal-2016-squad,\n"
        "  title = {{SQ}u{AD}: 100,000+ Questions for Machine Comprehension of Text},\n"
        "  author = {Rajpurkar, Pranav and Zhang, Jian and Lopyrev, Konstantin and Liang, Percy},\n"
        "  booktitle = {Proceedings of EMNLP},\n"
        "  year = {2016}\n"
        "}"
    ),
    instructions=(
        "download train-v1.1.json and dev-v1.1.json from https://rajpurkar.github.io/SQuAD-explorer/ "
        "and put them into RAW/squad_v1/"
    ),
)
ADVQA = SourceSpec(
    slug="advqa",
    title="AdversarialQA v1.0, against three models",
    url="https://adversarialqa.github.io/",
    revision="v1.0",
    licence="stated in conflicting ways",
    open_licence=False,
    citation=(
        "@article{bartolo-etal-2020-beat,\n"
        "  title = {Beat the {AI}: Investigating Adversarial Human Annotation for Reading Comprehension},\n"
        "  author = {Bartolo, Max and Roberts, Alastair and Welbl, Johannes and Riedel, Sebastian and "
        "Stenetorp, Pontus},\n"
        "  journal = {Transactions of the ACL},\n"
        "  year = {2020}\n"
        "}"
    ),
    instructions=(
        "unpack https://adversarialqa.github.io/data/aqa_v1.0.zip into RAW/advqa/aqa_v1.0/, so that "
        "RAW/advqa/aqa_v1.0/combined/train.json exists"
    ),
)
_MRQA_CITATION = (
    "@inproceedings{fisch-etal-2019-mrqa,\n"
    "  title = {{MRQA} 2019 Shared Task: Evaluating Generalization in Reading Comprehension},\n"
    "  author = {Fisch, Adam and Talmor, Alon and Jia, Robin and Seo, Minjoon and Choi, Eunsol and Chen, Danqi},\n"
    "  booktitle = {Proceedings of the 2nd Workshop on Machine Reading for Question Answering},\n"
    "  year = {2019}\n"
    "}"
)


def _mrqa_source(slug: str, title: str, file: str, licence: str, *, open_licence: bool) -> SourceSpec:
    return SourceSpec(
        slug=f"mrqa_{slug}",
        title=f"{title}, as MRQA 2019 has it",
        url="https://github.com/mrqa/MRQA-Shared-Task-2019",
        revision="v2",
        licence=licence,
        open_licence=open_licence,
        citation=_MRQA_CITATION,
        instructions=(
            f"put {file}.jsonl.gz of the in-domain training and development data that "
            "https://github.com/mrqa/MRQA-Shared-Task-2019 links to into RAW/mrqa/train/ and RAW/mrqa/dev/; "
            "there is no need to unpack them"
        ),
    )


SQUADSHIFTS = SourceSpec(
    slug="squadshifts",
    title="SQuADShifts: New York Times, Reddit and Amazon",
    url="https://github.com/modestyachts/squadshifts-website",
    revision="b7cc4d50af791c36c49417fb94dd739d6a9e7bef",
    licence="CC BY 4.0 by its card; one part is New York Times text",
    open_licence=False,
    citation=(
        "@inproceedings{miller-etal-2020-effect,\n"
        "  title = {The Effect of Natural Distribution Shift on Question Answering Models},\n"
        "  author = {Miller, John and Krauth, Karl and Recht, Benjamin and Schmidt, Ludwig},\n"
        "  booktitle = {Proceedings of ICML},\n"
        "  year = {2020}\n"
        "}"
    ),
    instructions=(
        "put nyt_v1.0.json, reddit_v1.0.json and amazon_reviews_v1.0.json of the folder datasets of "
        "https://github.com/modestyachts/squadshifts-website into RAW/squadshifts/"
    ),
)
_COLUMNS = select("title", "context", "question", "answers", "group")
_INPUTS = ("title", "context", "question")
_FILLED = (keep_filled("context"), keep_filled("question"))


def _mrqa(name: str, source: SourceSpec, file: str, provenance: Provenance) -> DomainSpec:
    return DomainSpec(
        name=name,
        files={
            split: (FileSpec(source, f"mrqa/{folder}/{file}.jsonl", mrqa),)
            for split, folder in {"train": "train", "test": "dev"}.items()
        },
        transforms=(*_FILLED, group_by_text("context"), _COLUMNS),
        provenance=provenance,
    )


def _documents(name: str, files: dict[str, tuple[FileSpec, ...]], provenance: Provenance) -> DomainSpec:
    return DomainSpec(name=name, files=files, transforms=(*_FILLED, group_by("title"), _COLUMNS), provenance=provenance)


_SQUAD = _documents(
    "squad",
    {
        "train": (FileSpec(SQUAD, "squad_v1/train-v1.1.json", squad),),
        "test": (FileSpec(SQUAD, "squad_v1/dev-v1.1.json", squad),),
    },
    Provenance(title="SQuAD", text_sources=("Wikipedia",), breadth=2, paper_rows={"train": 87_599, "test": 10_570}),
)
_ADVQA = _documents(
    "advqa",
    {
        "train": (FileSpec(ADVQA, "advqa/aqa_v1.0/combined/train.json", squad),),
        "test": (FileSpec(ADVQA, "advqa/aqa_v1.0/combined/dev.json", squad),),
    },
    Provenance(
        title="AdvQA",
        text_sources=("Adversarial",),
        challenge=True,
        made_from="SQuAD",
        paper_rows={"train": 30_000, "test": 3_000},
    ),
)
_NEWSQA = _mrqa(
    "newsqa",
    _mrqa_source("newsqa", "NewsQA", "NewsQA", "Microsoft Research data licence; CNN texts", open_licence=False),
    "NewsQA",
    Provenance(title="NewsQA", text_sources=("CNN News",), paper_rows={"train": 74_160, "test": 4_212}),
)
_SEARCHQA = _mrqa(
    "searchqa",
    _mrqa_source("searchqa", "SearchQA", "SearchQA", "unclear; search results of others", open_licence=False),
    "SearchQA",
    Provenance(
        title="SearchQA",
        text_sources=("Google search", "J!Archive"),
        paper_rows={"train": 117_384, "test": 16_980},
    ),
)
EQA = TaskSpec(
    benchmark="boss",
    name="eqa",
    title="Extractive question answering: SQuAD against adversarial questions, news and search results",
    kind=TaskKind.EXTRACTIVE_QA,
    inputs=_INPUTS,
    labels=(),
    metric="token_f1",
    domains=(_SQUAD, _ADVQA, _NEWSQA, _SEARCHQA),
    as_upstream=True,
    id_domain="squad",
    notes=(
        "Test splits are the development ones, whose answers are public.",
        "NewsQA and SearchQA are read from MRQA 2019: a row a question, every accepted answer where it stands in the "
        "context, and no title.",
    ),
)
_HOTPOTQA = _mrqa(
    "hotpotqa",
    _mrqa_source("hotpotqa", "HotpotQA", "HotpotQA", "CC BY-SA 4.0", open_licence=True),
    "HotpotQA",
    Provenance(title="HotpotQA", text_sources=("Wikipedia",), breadth=2, paper_rows={"train": 72_928, "test": 5_901}),
)
_NATURAL_QUESTIONS = _mrqa(
    "natural_questions",
    _mrqa_source(
        "natural_questions", "Natural Questions (short)", "NaturalQuestionsShort", "CC BY-SA 3.0", open_licence=True
    ),
    "NaturalQuestionsShort",
    Provenance(
        title="NaturalQuestions", text_sources=("Google search",), paper_rows={"train": 104_071, "test": 12_836}
    ),
)
_TRIVIA_QA = _mrqa(
    "trivia_qa",
    _mrqa_source("trivia_qa", "TriviaQA (web)", "TriviaQA-web", "unclear; web pages of others", open_licence=False),
    "TriviaQA-web",
    Provenance(title="Trivia-QA", text_sources=("Wikipedia",), breadth=2, paper_rows={"train": 61_688, "test": 7_785}),
)
_SQUAD_SHIFTS = DomainSpec(
    name="squad_shifts",
    files={
        "test": tuple(
            FileSpec(SQUADSHIFTS, f"squadshifts/{name}_v1.0.json", squad)
            for name in ("nyt", "reddit", "amazon_reviews")
        )
    },
    # Its articles are no documents: all of Reddit is one.
    transforms=(*_FILLED, group_by_text("context"), _COLUMNS),
    provenance=Provenance(
        title="SQuAD Shifts",
        # Without Wikipedia, which the paper's table lists: none of the rows is from there.
        text_sources=("Amazon", "Reddit", "New York Times"),
        paper_rows={"test": 29_753},
    ),
)
EQA_CANDIDATES = TaskSpec(
    benchmark="boss",
    name="eqa_candidates",
    title="Extractive question answering: data sets that were candidates (Table 18)",
    kind=TaskKind.EXTRACTIVE_QA,
    inputs=_INPUTS,
    labels=(),
    metric="token_f1",
    domains=(_HOTPOTQA, _NATURAL_QUESTIONS, _SQUAD_SHIFTS, _TRIVIA_QA),
    as_upstream=True,
    candidates_for="eqa",
    notes=(
        "SQuADShifts is taken without its part from Wikipedia: the paper's 29,753 rows are those of the other three.",
    ),
)
