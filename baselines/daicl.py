"""DAICL, domain-adaptive in-context learning (Long et al. 2023), a baseline of the Depth F1 paper (app. B.2).

One LoRA-adapted causal language model is trained per source and target. A training example is a labelled source text
preceded by the three most similar unlabelled training texts of the target. The loss covers the whole sequence, so the
model learns the target's language together with the task. A test text is preceded by the three most similar labelled
source texts, and the label with the highest probability is predicted, so every text gets one. Similarity is the cosine
of sentence embeddings. As in the paper, training texts, contexts and demonstrations have fewer than 50 words; test
texts of any length are predicted (truncated to half of the window). For source = target, the contexts are other texts
of the same domain. Depth F1 does not publish its prompts; the layout is ours. Not supported: targets without training
rows (there is nothing to adapt to), and one model for several targets.

    shiftbench train daicl nli --data build/dr --out daicl.parquet --model meta-llama/Llama-2-7b-hf
"""

import json
import shutil
from dataclasses import MISSING, asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.baselines.program import (
    DomainOptions,
    Probabilities,
    make_card,
    open_work_folder,
    run_alone,
    with_options,
)
from shiftbench.baselines.robust.in_context import Layout, find_nearest, label_scores
from shiftbench.baselines.runs import Run, Trained, require_two_labels, train_and_predict
from shiftbench.baselines.sbert_lr import EncoderName
from shiftbench.baselines.training.models import determinism, model_version
from shiftbench.baselines.training.options import BaseDtype, Hyperparameters, OptimizerOptions
from shiftbench.baselines.training.program import write_trained
from shiftbench.builders.encoder import DEFAULT_ENCODER, Encoder, encoder_texts
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.command_line import option, require
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import InvalidInput, Problem

SHOTS = 3
MOST_WORDS = 50
RANK = 16
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")
"""Attention layers that get low-rank updates in the authors' code."""
WARMUP_STEPS = 20
SETTINGS = Hyperparameters(epochs=3, batch_size=256, learning_rate=3e-4, weight_decay=0, max_length=512, accumulate=64)
_LIBRARIES = ("torch", "transformers", "accelerate", "peft", "sentence-transformers")


@dataclass(frozen=True, kw_only=True)
class DaiclOptions(OptimizerOptions):
    """Options of DAICL's training: model, sentence encoder, and the layers that get low-rank updates."""

    model: str = option(MISSING, "Hub id or path of a causal language model.")
    encoder: EncoderName = DEFAULT_ENCODER
    batch_size: int | None = option(None, "Rows per optimizer step.", min=1)
    base_dtype: BaseDtype = option(BaseDtype.FP32, "Number format of the frozen weights: bf16 halves the memory.")
    lora_targets: list[str] = option(
        PROJECTIONS, "Linear layers that get low-rank updates; repeat. Default: q, k, v and o.", show_default=False
    )


class Daicl:
    """Trains one model per source and target; each predicts its target.

    Args:
        targets: domains to predict, each with train rows.
        settings: hyperparameters; warm-up always takes 20 steps.
    """

    def __init__(
        self, folder: DatasetFolder, task: str, targets: list[str], options: DaiclOptions, settings: Hyperparameters
    ) -> None:
        from shiftbench.baselines.training.batches import Padding
        from shiftbench.baselines.training.models import Device, load_tokenizer

        info = folder.task(task)
        lacking = [
            target for target in targets if target in info.domains and "train" not in info.domains[target].splits
        ]
        if lacking:
            what, cure = "a target has no train texts to adapt to", "choose other targets with --target"
            raise InvalidInput(Problem(what, str(folder.path), ", ".join(f"'{target}'" for target in lacking), cure))
        self._folder, self._task, self._targets, self._inputs = folder, task, targets, info.inputs
        self._options, self._encoder, self._settings = options, Encoder(options.encoder), settings
        self._device = Device.best(options.precision)
        tokenizer = load_tokenizer(options.model)
        self._layout = Layout(tokenizer, info.inputs, info.labels, settings.max_length)
        self._padding = Padding(tokenizer.pad_token_id or 0)

    def fit(self, run: Run) -> Trained:
        """Train one model per target, and save the trained weights of each to a file."""
        from shiftbench.baselines.training.models import n_parameters

        assert run.scratch is not None
        source = self._short_rows(run.train, run.source)
        require_two_labels(source)
        files = {target: run.scratch / f"{target}.pt" for target in self._targets}
        for target, file in files.items():
            if not file.is_file():  # the file is written last
                self._adapt(run, source, target, file)
        model = self._build_model(run.seed)
        sizes = n_parameters(model)
        notes = {target: parse_json(file.with_suffix(".json").read_text("utf-8")) for target, file in files.items()}
        record = {"family": model.config.model_type, "parameters": sizes[0], "tunable_parameters": sizes[1]}
        record |= {"train_rows": len(source), "targets": notes}
        return Trained(lambda rows: self._predict(model, files, source, rows), record=record)

    def _adapt(self, run: Run, source: pl.DataFrame, target: str, file: Path) -> None:
        """Train on source texts, each preceded by similar target texts, and save the trained weights."""
        from shiftbench.baselines.training.trainer import Objective, n_next_tokens, save_state, train

        contexts = self._short_rows(self._folder.split(self._task, target, "train").drop("label"), target)
        place = {id_: number for number, id_ in enumerate(contexts["id"])}
        neighbours = find_nearest(
            self._vectors(source), self._vectors(contexts), SHOTS, [place.get(id_) for id_ in source["id"]]
        )
        texts, queries = self._layout.fields(contexts), self._layout.fields(source)
        rows = [
            self._layout.example([texts[number] for number in near], query, label)
            for near, query, label in zip(neighbours, queries, source["label"], strict=True)
        ]
        model, checkpoints = self._build_model(run.seed), file.with_suffix("")
        steps = -(-len(rows) // self._settings.batch_size) * self._settings.epochs
        settings = replace(self._settings, warmup=min(1.0, WARMUP_STEPS / max(1.0, steps)))
        trajectory = train(
            model, rows, self._padding, settings, seed=run.seed, device=self._device, scratch=checkpoints,
            objective=Objective(weight=n_next_tokens),
        )  # fmt: skip
        with replace_file(file.with_suffix(".json")) as new:
            new.write_text(json.dumps(trajectory.record), encoding="utf-8")
        save_state(model, file)
        shutil.rmtree(checkpoints)

    def _build_model(self, seed: int) -> Any:
        from shiftbench.baselines.training.models import add_low_rank_updates, load_model, seeded

        model = load_model("AutoModelForCausalLM", self._options.model, seed, base_dtype=self._options.base_dtype)
        with seeded(seed):
            return add_low_rank_updates(model, "CAUSAL_LM", RANK, self._options.lora_targets)

    def _predict(
        self, model: Any, files: dict[str, Path], source: pl.DataFrame, rows: pl.DataFrame
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        from scipy.special import softmax

        from shiftbench.baselines.training.prediction import predict_rows
        from shiftbench.baselines.training.trainer import load_state

        fields = self._layout.fields(source)
        demonstrations = [
            self._layout.demonstration(text, label) for text, label in zip(fields, source["label"], strict=True)
        ]
        vectors = self._vectors(source)
        scores = np.zeros((len(rows), len(self._folder.task(self._task).labels)))
        for target, file in files.items():
            places = np.flatnonzero(rows["domain"].to_numpy() == target)
            part = rows[places]
            load_state(model, file)
            questions = [
                question
                for near, text in zip(
                    find_nearest(self._vectors(part), vectors, SHOTS), self._layout.fields(part), strict=True
                )
                for question in self._layout.questions([demonstrations[number] for number in near], text)
            ]
            read = model, questions, self._padding, self._device, label_scores
            label_scores_by_question = predict_rows(*read, f"predicting {target}")
            scores[places] = np.asarray(label_scores_by_question, dtype=np.float64).reshape(len(part), -1)
        probabilities = softmax(scores, axis=1)
        return probabilities.argmax(axis=1), probabilities

    def _short_rows(self, rows: pl.DataFrame, domain: str) -> pl.DataFrame:
        """Remove the rows of 50 words or more."""
        n_words = pl.Series([len(text.split()) for text in encoder_texts(rows, self._inputs)])
        short = rows.filter(n_words < MOST_WORDS)
        if short.is_empty():
            what, cure = f"'{domain}' has no train text of under {MOST_WORDS} words", "choose other domains"
            raise InvalidInput(Problem(what, "--source, --target", f"{len(rows):,} train texts, all longer", cure))
        return short

    def _vectors(self, rows: pl.DataFrame) -> NDArray[np.float32]:
        return self._encoder.encode(encoder_texts(rows, self._inputs))


@with_options
def main(domains: DomainOptions, *, probabilities: Probabilities = False, options: DaiclOptions) -> None:
    """Adapt a language model to each target (DAICL).

    It learns from labelled source texts in the context of similar target texts. Default: 3 epochs, batches of 256 rows
    in 64 parts, learning rate 3e-4.

    Example: shiftbench train daicl nli --data build/dr --out daicl.parquet --model meta-llama/Llama-2-7b-hf
    """
    require("peft", "train")
    folder, task = domains.open_folder(), domains.task
    typed = {name: getattr(options, name) for name in ("epochs", "batch_size", "learning_rate", "accumulate")}
    settings = SETTINGS.with_typed(**typed)
    targets = domains.target or [name for name, facts in folder.task(task).domains.items() if "test" in facts.splits]
    program = Daicl(folder, task, targets, options, settings)
    asked: dict[str, Any] = {"options": asdict(options), "settings": asdict(settings)}
    asked |= {"task": task, "targets": targets, "probabilities": probabilities, "model": model_version(options.model)}
    work = open_work_folder(domains.out, "daicl", folder, _LIBRARIES, **asked)
    named: dict[str, Any] = {"sources": domains.source, "targets": targets, "seeds": domains.seed}
    with determinism(asked=options.deterministic):
        results = train_and_predict(program.fit, folder, task, **named, probabilities=probabilities, work=work)
    record = results.records[0]
    card = make_card(
        folder, libraries=_LIBRARIES, name="DAICL", base_model=options.model, paradigm="retrieval", shots=SHOTS,
        tuning_trials=1, extra_data="train texts of the target domain, without labels",
        **{name: record[name] for name in ("family", "parameters", "tunable_parameters")},
    )  # fmt: skip
    write_trained(results, card, domains.out, work)


if __name__ == "__main__":
    run_alone(main)
