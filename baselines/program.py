"""What every baseline program shares: its options, the loop over sources and targets, and the two files it writes."""

import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray
from tqdm import tqdm

from builders.folder import DatasetFolder
from validation.cards import Card, write_card
from validation.command_line import DataOption
from validation.report import InvalidInput, Problem, did_you_mean
from validation.vocabulary import SOURCE_JOINER, TaskKind, source_parts

Predict = Callable[[pl.DataFrame], tuple[NDArray[np.int64], NDArray[np.float64]]]
"""A trained model: rows in, label codes and confidences in [0, 1] out, both of shape (n,)."""

Fit = Callable[[pl.DataFrame, pl.DataFrame | None, int], Predict]
"""Training: train rows, validation rows (None where the source has none) and seed in, a trained model out."""


@dataclass(frozen=True)
class Classifier:
    """A trained classifier: rows in, the probability of each of ``classes`` (label codes) out, shape (n, classes)."""

    classes: NDArray[np.int64]
    probabilities: Callable[[pl.DataFrame], NDArray[np.float64]]

    def predict(self, rows: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Give the most probable label of each row, with its probability."""
        probabilities = self.probabilities(rows)
        return self.classes[probabilities.argmax(axis=1)], probabilities.max(axis=1)


TaskName = Annotated[str, typer.Argument(metavar="TASK", help="Task of the dataset folder, such as 'nli'.")]
Data = DataOption
Out = Annotated[Path, typer.Option("--out", help="Prediction file to write: .parquet, .jsonl or .csv.")]
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        help="Train on this domain; repeat for more, join with '+'. Default: the task's ID domain or a pairing's whole "
        "source where it has one, else each.",
    ),
]
Targets = Annotated[
    list[str] | None, typer.Option("--target", help="Predict this domain's test split; repeat for more. Default: all.")
]
Candidates = Annotated[
    bool,
    typer.Option("--candidates", help="Predict the candidate data sets of the task, too, for 'shiftbench protocol'."),
]
Seeds = Annotated[
    list[int] | None,
    typer.Option("--seed", help="Seed of a run; repeat for more runs. Default: 0.", min=0, max=2**32 - 1),
]


def train_and_predict(
    fit: Fit,
    folder: DatasetFolder,
    task: str,
    *,
    sources: Sequence[str] | None,
    targets: Sequence[str] | None,
    seeds: Sequence[int] | None,
    candidates: bool = False,
) -> pl.DataFrame:
    """Train a model on every source and let each predict every target's test split.

    Args:
        fit: trains one model.
        folder: the dataset.
        task: a classification task of it.
        sources: training domains, ``a+b`` trains on both; default the task's ID domain, the joined source of a
            pairing, or where it has neither every domain that has train rows.
        targets: domains to predict; default all.
        seeds: one run a seed; default 0.
        candidates: predict all domains of the tasks of candidates for this task, too.
    Returns: a prediction frame (source, id, prediction, seed, confidence).
    """
    info = folder.task(task)
    if info.kind is not TaskKind.CLASSIFICATION:
        raise InvalidInput(
            Problem(
                "this baseline is for classification tasks", str(folder.path), f"a task of kind {info.kind.value!r}"
            )
        )
    trainable = [domain for domain, facts in info.domains.items() if "train" in facts.splits]
    predictable = [domain for domain, facts in info.domains.items() if "test" in facts.splits]
    if not trainable:
        cure = "build it from more rows a domain"
        if info.candidates_for is not None:
            cure = f"train on task '{info.candidates_for}' with --candidates, which predicts these data sets, too"
        raise InvalidInput(Problem(f"no domain of task '{task}' has train rows", str(folder.path), cure=cure))
    if not sources and info.id_domain is not None and info.id_domain not in trainable:
        what, cure = f"the ID data set '{info.id_domain}' of task '{task}' is not in the folder", "fetch its files"
        raise InvalidInput(Problem(what, str(folder.path), cure=f"{cure} and build again, or name a --source"))
    whole = info.joined_source or info.id_domain
    default = [whole] if whole is not None else trainable
    sources = list(dict.fromkeys(_alphabetical(source) for source in sources or default))
    targets = list(targets or predictable)
    for source in sources:
        for part in source.split(SOURCE_JOINER):  # 'none' is no domain to train on
            _known(part, trainable, "--source")
    for target in targets:
        _known(target, predictable, "--target")
    tests = [folder.split(task, target, "test") for target in targets]
    tests += _candidates(folder, task) if candidates else []
    runs = [(source, seed) for source in sources for seed in dict.fromkeys(seeds or (0,))]
    parts: list[pl.DataFrame] = []
    for source, seed in tqdm(runs, desc="training", unit="model", disable=None, file=sys.stderr):
        predict = fit(_rows(folder, task, source, "train"), _rows_or_none(folder, task, source, "validation"), seed)
        for rows in tests:
            parts.append(_predictions(source, seed, rows, predict, info.labels))
    return pl.concat(parts)


def write_outputs(predictions: pl.DataFrame, card: Card, out: Path) -> Path:
    """Write a prediction file and, beside it, its card; returns the card's path. Both appear whole or not at all."""
    writers: dict[str, Callable[[pl.DataFrame, Path], object]] = {
        ".parquet": lambda frame, path: frame.write_parquet(path),
        ".jsonl": lambda frame, path: frame.write_ndjson(path),
        ".csv": lambda frame, path: frame.write_csv(path),
    }
    check_out_path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    card_path = out.with_name(f"{out.stem}.card.yaml")
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as temporary:
        new, new_card = Path(temporary) / out.name, Path(temporary) / card_path.name
        writers[out.suffix](predictions, new)
        write_card(card, new_card)
        new.replace(out)
        new_card.replace(card_path)
    typer.echo(f"wrote {out} ({len(predictions):,} predictions) and {card_path}", err=True)
    return card_path


def check_out_path(out: Path) -> None:
    """Refuse an output that cannot be written, before any training."""
    taken = next((parent for parent in out.absolute().parents if parent.exists() and not parent.is_dir()), None)
    if taken is not None:
        found, cure = f"{taken} is a file", "choose another folder"
        raise InvalidInput(Problem("the output path leads through a file", str(out), found, cure))
    if out.suffix not in (".parquet", ".jsonl", ".csv"):
        raise InvalidInput(
            Problem(
                "unknown kind of prediction file", str(out), f"'{out.suffix}'", "end --out in .parquet, .jsonl or .csv"
            )
        )


def make_card(folder: DatasetFolder, *, libraries: Sequence[str] = (), **facts: Any) -> Card:
    """Fill in what every card says: the exact command, library versions and the data's content hash."""
    versions = {name: version(name) for name in ("shiftbench", "numpy", "polars", *libraries)}
    return Card(command=_command(), versions=versions, data=folder.content_hash, **facts)


def require_two_labels(train: pl.DataFrame) -> None:
    """Refuse train rows that all have one label, which no classifier can be trained on."""
    if train["label"].n_unique() < 2:
        domains = ", ".join(train["domain"].unique(maintain_order=True))
        cure = "choose other domains with --source"
        raise InvalidInput(Problem(f"all train rows of {domains} have the same label", "--source", cure=cure))


def _command() -> str:
    """Give the command as it was typed: ``shiftbench ...``, or ``python -m baselines...`` for a program alone."""
    program = Path(sys.argv[0])
    alone = program.resolve().parent == Path(__file__).resolve().parent
    start = ["python", "-m", f"baselines.{program.stem}"] if alone else ["shiftbench"]
    return shlex.join([*start, *sys.argv[1:]])


def _predictions(source: str, seed: int, rows: pl.DataFrame, predict: Predict, labels: Sequence[str]) -> pl.DataFrame:
    codes, confidence = predict(rows)
    names = pl.Series("prediction", codes).replace_strict(dict(enumerate(labels)), return_dtype=pl.String)
    return pl.DataFrame(
        {
            "source": pl.repeat(source, len(rows), eager=True),
            "id": rows["id"],
            "prediction": names,
            "seed": pl.repeat(seed, len(rows), eager=True, dtype=pl.Int64),
            "confidence": confidence,
        },
        schema_overrides={"confidence": pl.Float64},
    )


def _candidates(folder: DatasetFolder, task: str) -> list[pl.DataFrame]:
    """Read the test rows of all candidates for a task."""
    tests = [
        folder.split(name, domain, "test")
        for name, info in folder.manifest.tasks.items()
        if info.candidates_for == task
        for domain, facts in info.domains.items()
        if "test" in facts.splits
    ]
    if not tests:
        what, cure = f"the folder has no candidates for task '{task}'", "leave --candidates out, or build them, too"
        raise InvalidInput(Problem(what, str(folder.path), cure=cure))
    return tests


def _rows(folder: DatasetFolder, task: str, source: str, split: str) -> pl.DataFrame:
    return pl.concat(list(_parts(folder, task, source, split)))


def _rows_or_none(folder: DatasetFolder, task: str, source: str, split: str) -> pl.DataFrame | None:
    parts = list(_parts(folder, task, source, split))
    return pl.concat(parts) if parts else None


def _parts(folder: DatasetFolder, task: str, source: str, split: str) -> Iterator[pl.DataFrame]:
    for part in source_parts(source):
        if split in folder.task(task).domains[part].splits:
            yield folder.split(task, part, split)


def _alphabetical(source: str) -> str:
    return SOURCE_JOINER.join(sorted(set(source.split(SOURCE_JOINER))))


def _known(domain: str, domains: Sequence[str], option: str) -> None:
    if domain not in domains:
        raise InvalidInput(Problem("there is no such domain", option, f"'{domain}'", did_you_mean(domain, domains)))
