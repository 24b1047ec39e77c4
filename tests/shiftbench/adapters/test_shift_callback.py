"""The callback inside transformers' own Trainer, on a model of two layers."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.report import InvalidInput
from tests.baselines.training.tiny_tokenizers import bert_tokenizer
from tests.leaderboard.conftest import predict


def trainer_of(folder: DatasetFolder, out: Path, labels: list[str]) -> Any:
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    rows = folder.split("nli", "harbour", "train").head(16)
    tokenizer = bert_tokenizer(rows["premise"].to_list())
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64, id2label=dict(enumerate(labels)),
        label2id={name: code for code, name in enumerate(labels)},
    )  # fmt: skip
    tokenizer.model_max_length = 64
    encoded = tokenizer(rows["premise"].to_list(), rows["hypothesis"].to_list(), truncation=True, padding=True)
    items = [{key: encoded[key][n] for key in encoded} | {"labels": rows["label"][n]} for n in range(len(rows))]
    arguments = TrainingArguments(
        str(out), max_steps=2, eval_strategy="steps", eval_steps=1, logging_steps=1, report_to=[], save_strategy="no",
        use_cpu=True, disable_tqdm=True, per_device_eval_batch_size=64,
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    return Trainer(model, arguments, train_dataset=items, eval_dataset=items[:4], processing_class=tokenizer)


def test_each_evaluation_logs_what_score_finds(synthetic: DatasetFolder, tmp_path: Path) -> None:
    import torch

    from shiftbench.adapters.shift_callback import shift_callback

    labels = list(synthetic.task("nli").labels)
    trainer = trainer_of(synthetic, tmp_path, labels[::-1])  # by name, never by position
    reference = tmp_path / "reference.parquet"
    predict(synthetic, list(synthetic.task("nli").domains), 0.1).write_parquet(reference)
    trainer.add_callback(shift_callback(trainer, synthetic, "nli", source="harbour", reference=reference))
    trainer.train()
    logged = [entry for entry in trainer.state.log_history if "eval_mean_st" in entry]
    assert len(logged) == 2
    found = trainer.evaluate()
    rows = synthetic.test("nli")
    encoded = trainer.processing_class(rows["premise"].to_list(), rows["hypothesis"].to_list(), truncation=True)
    with torch.inference_mode():
        batch = trainer.processing_class.pad(encoded, return_tensors="pt")
        codes = trainer.model.eval()(**batch).logits.argmax(dim=-1).tolist()
    said = [labels[::-1][code] for code in codes]
    path = tmp_path / "preds.parquet"
    rows.select("id", source=pl.lit("harbour"), prediction=pl.Series(said)).write_parquet(path)
    (task,) = score_file(path, synthetic, reference=reference).tasks
    for shift in task.shifts:
        assert found[f"eval_st_{shift.target}"] == pytest.approx(shift.st.value)
        assert found[f"eval_sd_{shift.target}"] == pytest.approx(shift.sd.value)
        assert shift.reference_td is not None
        assert found[f"eval_td_{shift.target}"] == pytest.approx(shift.reference_td.value)
    assert found["eval_ss"] == pytest.approx(task.summary.mean_ss.value)


def test_a_model_of_other_labels_is_refused(synthetic: DatasetFolder, tmp_path: Path) -> None:
    from shiftbench.adapters.shift_callback import shift_callback

    trainer = trainer_of(synthetic, tmp_path, ["LABEL_0", "LABEL_1", "LABEL_2"])
    with pytest.raises(InvalidInput, match="set id2label of its config to: "):
        shift_callback(trainer, synthetic, "nli", source="harbour")


def test_no_library_is_imported_with_its_adapter() -> None:
    names = "shiftbench.notebook.api, shiftbench.adapters.shift_callback, shiftbench.adapters.domain_scorer"
    code = f"import sys, {names}; print({{'torch', 'transformers', 'sklearn'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
