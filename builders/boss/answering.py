"""BOSS EQA: SQuAD; OOD adversarial questions, questions about news, and quiz questions with search results."""

from shiftbench.builders.boss.suite import candidates, suite_task
from shiftbench.builders.folder.manifest import Provenance
from shiftbench.builders.readers.mrqa import mrqa
from shiftbench.builders.readers.squad import squad
from shiftbench.builders.specs.spec import DomainSpec, FileSpec, files_of
from shiftbench.builders.specs.transforms import group_by, group_by_text, keep_filled, select
from shiftbench.validation.vocabulary import TaskKind

_COLUMNS = select("title", "context", "question", "answers", "group")
_INPUTS = ("title", "context", "question")
_FILLED = (keep_filled("context"), keep_filled("question"))


def _mrqa(name: str, file: str, provenance: Provenance) -> DomainSpec:
    return DomainSpec(
        name=name,
        files={
            split: (FileSpec(f"mrqa/{folder}/{file}.jsonl", mrqa, slug=f"mrqa_{name}"),)
            for split, folder in {"train": "train", "test": "dev"}.items()
        },
        transforms=(*_FILLED, group_by_text("context"), _COLUMNS),
        provenance=provenance,
    )


def _documents(name: str, files: dict[str, tuple[FileSpec, ...]], provenance: Provenance) -> DomainSpec:
    return DomainSpec(name=name, files=files, transforms=(*_FILLED, group_by("title"), _COLUMNS), provenance=provenance)


_SQUAD = _documents(
    "squad",
    files_of(squad, train="squad_v1/train-v1.1.json", test="squad_v1/dev-v1.1.json"),
    Provenance(title="SQuAD", text_sources=("Wikipedia",), breadth=2, paper_rows={"train": 87_599, "test": 10_570}),
)
_ADVQA = _documents(
    "advqa",
    files_of(squad, train="advqa/aqa_v1.0/combined/train.json", test="advqa/aqa_v1.0/combined/dev.json"),
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
    "NewsQA",
    Provenance(title="NewsQA", text_sources=("CNN News",), paper_rows={"train": 74_160, "test": 4_212}),
)
_SEARCHQA = _mrqa(
    "searchqa",
    "SearchQA",
    Provenance(
        title="SearchQA", text_sources=("Google search", "J!Archive"), paper_rows={"train": 117_384, "test": 16_980}
    ),
)
EQA = suite_task(
    "eqa",
    "Extractive question answering: SQuAD against adversarial questions, news and search results",
    TaskKind.EXTRACTIVE_QA,
    "token_f1",
    (_SQUAD, _ADVQA, _NEWSQA, _SEARCHQA),
    inputs=_INPUTS,
    labels=(),
    notes=("Test splits are the development sets, whose answers are public.",),
)
_HOTPOTQA = _mrqa(
    "hotpotqa",
    "HotpotQA",
    Provenance(title="HotpotQA", text_sources=("Wikipedia",), breadth=2, paper_rows={"train": 72_928, "test": 5_901}),
)
_NATURAL_QUESTIONS = _mrqa(
    "natural_questions",
    "NaturalQuestionsShort",
    Provenance(
        title="NaturalQuestions", text_sources=("Google search",), paper_rows={"train": 104_071, "test": 12_836}
    ),
)
_TRIVIA_QA = _mrqa(
    "trivia_qa",
    "TriviaQA-web",
    Provenance(title="Trivia-QA", text_sources=("Wikipedia",), breadth=2, paper_rows={"train": 61_688, "test": 7_785}),
)
_SQUAD_SHIFTS = DomainSpec(
    name="squad_shifts",
    files=files_of(squad, test=[f"squadshifts/{name}_v1.0.json" for name in ("nyt", "reddit", "amazon_reviews")]),
    # Its articles do not identify documents: all of Reddit is a single one.
    transforms=(*_FILLED, group_by_text("context"), _COLUMNS),
    provenance=Provenance(
        title="SQuAD Shifts",
        # The paper's table also lists Wikipedia, but no row is from there.
        text_sources=("Amazon", "Reddit", "New York Times"),
        paper_rows={"test": 29_753},
    ),
)
EQA_CANDIDATES = candidates(
    EQA,
    "Extractive question answering: candidate data sets (Table 18)",
    _HOTPOTQA,
    _NATURAL_QUESTIONS,
    _SQUAD_SHIFTS,
    _TRIVIA_QA,
)
