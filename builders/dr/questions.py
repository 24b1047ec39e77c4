"""DR QA and QG: SQuAD 2.0 by the domain of its documents."""

from collections.abc import Sequence
from dataclasses import replace

from shiftbench.builders.readers.squad import squad
from shiftbench.builders.specs.balances import ANSWERED, common_lengths
from shiftbench.builders.specs.spec import NATURAL, Balance, DomainSpec, FileSpec, TaskSpec, Transform
from shiftbench.builders.specs.transforms import first_answer, group_by, keep_answered, keep_in, rename
from shiftbench.builders.tables import squad_titles
from shiftbench.validation.vocabulary import TaskKind

_FILES = (
    FileSpec("squad_v2/train-v2.0.json", squad),
    FileSpec("squad_v2/dev-v2.0.json", squad),
    # Other copies of documents of the same release, for partial builds.
    FileSpec("squad_v2_cs224n/dev-v2.0.json", squad, partial=True, slug="squad_v2"),
    FileSpec("squad_v1/train-v1.1.json", squad, partial=True, slug="squad_v2"),
    FileSpec("squad_v1/dev-v1.1.json", squad, partial=True, slug="squad_v2"),
)
DOMAINS = ("geography", "history", "philosophy", "science", "society", "technology")


def _domains(*transforms: Transform) -> Sequence[DomainSpec]:
    return tuple(
        DomainSpec(
            name=name,
            files={"train": _FILES},
            transforms=(keep_in("title", squad_titles(name), f"keep_documents_of_{name}"), *transforms),
        )
        for name in DOMAINS
    )


_QUESTION = {name: name for name in ("title", "context", "question", "answers", "group")}
_DOCUMENTS = (
    "The paper's mapping of documents to domains is not public; ours is in builders/tables.",
    "Train and development documents of SQuAD 2.0 are pooled and split again; each document is in one split only.",
)

QA = TaskSpec(
    benchmark="dr",
    name="qa",
    title="Question answering by domain of the document, 20% of questions unanswerable",
    kind=TaskKind.EXTRACTIVE_QA,
    inputs=("title", "context", "question"),
    labels=(),
    metric="token_f1",
    train=9_000,
    validation=1_000,
    test=2_500,
    domains=tuple(_domains(group_by("title"), rename(_QUESTION))),
    balance=Balance("one_in_five_unanswered", ANSWERED, {0: 0.2, 1: 0.8}),
    distinct=("context", "question"),
    fewshot_domains=("history", "science", "society"),
    notes=(*_DOCUMENTS, "In every split of every domain, 20% of the questions are unanswerable (appendix D.2)."),
)
QA_IMBALANCED = replace(
    QA,
    name="qa_imbalanced",
    title="Question answering with each domain's natural proportion of unanswerable questions",
    balance=Balance("own_share_unanswered", ANSWERED, NATURAL),
    variant_of="qa",
    fewshot_domains=(),
    notes=(*_DOCUMENTS, "The variant of appendix C.7, with the same documents per split as qa."),
)
QG = TaskSpec(
    benchmark="dr",
    name="qg",
    title="Question generation from a paragraph and an answer in it",
    kind=TaskKind.GENERATION,
    inputs=("source_text", "answer"),
    labels=(),
    metric="bertscore_f1",
    train=7_500,
    validation=900,
    test=1_000,
    domains=tuple(
        _domains(
            keep_answered(),
            first_answer(),
            group_by("title"),
            rename({"context": "source_text", "answer": "answer", "question": "target_text", "group": "group"}),
        )
    ),
    # Three words per stratum: questions of 1-3, 4-6, ... words.
    balance=common_lengths(3),
    distinct=("source_text", "target_text"),
    fewshot_domains=("geography", "history", "science"),
    notes=(
        *_DOCUMENTS,
        "The answerable questions. If several answers are accepted, the first is given with the paragraph.",
        "In complete builds, question lengths have the same distribution in all domains (in bins of three words).",
    ),
)
