"""Every program that runs a model, once, on tiny models: what the tests on a GPU go through, and a long one without."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.baselines import (
    daicl,
    finetune_classifier,
    finetune_qa,
    finetune_seq2seq,
    finetune_tagger,
    mscl,
    prompt_llm,
    rag,
    sbert_lr,
)
from shiftbench.baselines.robust.method import METHODS, method_class
from shiftbench.baselines.robust.synonyms import SynonymSource
from shiftbench.baselines.training.options import Adapter, BaseDtype, Precision
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.prediction_files import read_predictions
from tests.baselines.kinds import LETTERS, WORDS
from tests.baselines.tiny import save_bert, save_llama, words_in
from tests.baselines.tiny_models import save_sentence_encoder, save_t5


@dataclass(frozen=True)
class Place:
    """Where a program runs.

    Attributes:
        synthetic: a folder with the tasks ``nli`` and ``sa``.
        kinds: a folder with the tasks ``tags``, ``questions`` and ``copies``.
        models: where tiny models are written.
        out: the prediction file.
        precision: numbers of trainings.
    """

    synthetic: DatasetFolder
    kinds: DatasetFolder
    models: Path
    out: Path
    precision: Precision

    @property
    def words(self) -> list[str]:
        return [*words_in(self.synthetic, "sa"), "Text", "Label", ":", *self.synthetic.task("sa").labels]

    def bert(self) -> str:
        return str(save_bert(self.models, [*self.words, *words_in(self.synthetic, "nli"), *WORDS]))

    def llama(self) -> str:
        return str(save_llama(self.models, self.words))

    def t5(self) -> str:
        return save_t5(self.models, ["Positive", "Negative"])

    def classify(self, model: str, *methods: str, task: str = "sa", **options: Any) -> None:
        given: dict[str, Any] = {"epochs": 1, "source": ["lamps"], "synonyms": SynonymSource.EMBEDDINGS} | options
        finetune_classifier.main(
            task, self.synthetic.path, self.out, model=model, method=list(methods), precision=self.precision, **given
        )

    def prompt(self, program: Any, **options: Any) -> None:
        given: dict[str, Any] = {"source": ["lamps"], "target": ["tents"], "local": True, "shots": 1} | options
        program.main("sa", self.synthetic.path, self.out, self.llama(), **given)


def _with(method: str) -> Callable[[Place], None]:
    options: dict[str, Any] = {"source": ["lamps+tents"]} if method_class(method).of_domains else {}
    return lambda place: place.classify(place.bert(), method, **options)


TRAINED: Mapping[str, Callable[[Place], None]] = {
    "finetune-classifier": lambda place: place.classify(place.bert()),
    "finetune-classifier: T5": lambda place: place.classify(place.t5()),
    "finetune-classifier: a decoder with low-rank updates": lambda place: place.classify(
        place.llama(), adapter=Adapter.LORA, adapter_size=2
    ),
    "finetune-classifier: parts, deterministic": lambda place: place.classify(
        place.bert(), accumulate=2, deterministic=True
    ),
    **{f"finetune-classifier --method {method}": _with(method) for method in METHODS},
    "finetune-tagger": lambda place: finetune_tagger.main(
        "tags", place.kinds.path, place.out, model=place.bert(), epochs=1, precision=place.precision
    ),
    "finetune-qa": lambda place: finetune_qa.main(
        "questions", place.kinds.path, place.out, model=place.bert(), epochs=1, precision=place.precision
    ),
    "finetune-seq2seq": lambda place: finetune_seq2seq.main(
        "copies", place.kinds.path, place.out, model=save_t5(place.models, LETTERS), epochs=1,
        train_size=200, max_target=8, precision=place.precision,
    ),
    "mscl": lambda place: mscl.main(
        "sa", place.synthetic.path, place.out, source=["lamps"], model=place.bert(), epochs=1, precision=place.precision
    ),
    "daicl": lambda place: daicl.main(
        "sa", place.synthetic.path, place.out, model=place.llama(), source=["lamps"], target=["tents"], epochs=1,
        encoder=save_sentence_encoder(place.models / "encoder", place.words), precision=place.precision,
        base_dtype=BaseDtype.BF16,
    ),
}  # fmt: skip
"""What is trained, each with the precision asked for."""

ASKED: Mapping[str, Callable[[Place], None]] = {
    "sbert-lr": lambda place: sbert_lr.main(
        "sa", place.synthetic.path, place.out, encoder=save_sentence_encoder(place.models, place.words)
    ),
    "prompt-llm": lambda place: place.prompt(prompt_llm),
    "prompt-llm --score-labels": lambda place: place.prompt(prompt_llm, score_labels=True),
    "rag": lambda place: place.prompt(
        rag, encoder=save_sentence_encoder(place.models / "encoder", place.words)
    ),
}  # fmt: skip
"""What reads with a model that is not trained, in the precision of its files."""

PROGRAMS: Mapping[str, Callable[[Place], None]] = {**TRAINED, **ASKED}


def run_program(
    name: str, folders: Mapping[str, DatasetFolder], place: Path, precision: Precision, patch: pytest.MonkeyPatch
) -> pl.DataFrame:
    """Run one of ``PROGRAMS`` with few trees in its bias model; returns what its prediction file holds.

    Args:
        name: key of the program.
        folders: the folders ``synthetic`` and ``kinds`` of ``Place``.
        place: an empty folder for tiny models and the prediction file.
        precision: numbers of trainings.
        patch: undone at the end of the test.
    """
    patch.setattr("shiftbench.baselines.robust.bias.TREES", 5)
    where = Place(**folders, models=place / "model", out=place / "p.parquet", precision=precision)
    PROGRAMS[name](where)
    return read_predictions(where.out)
