"""Adversarial test texts of the kind of AdvCivil: typos and distracting sentences, made against a victim, then judged.

The BOSS paper (appendix C.1) puts typos and distracting sentences into Civil Comments until a model errs, and has
three people leave out what changed its label or lost its sense; there is no code. ``make`` does the first half on any
classification task with a ``text`` column, and ``collect`` takes the table that people filled in and writes the
authors' file form. People are needed, because no rule here can check that a label still holds: only texts that
somebody answered yes to are kept.

What it does not do: it is not the authors' program and not the attack that they cite; no code and no sentence is
theirs, so what comes out resembles AdvCivil in kind and not in its texts. It never replaces a word by another one, and
does not ask whether a text still reads fluently. The sentences are a fixed list of twenty that judge nobody, the same
for each label. ``collect`` counts a row by one answer: where several people judge, agree on it first.

    shiftbench study attack make td --data build/boss --domain civil_comments --out review.csv
    shiftbench study attack collect td --data build/boss --reviewed review.csv --out adv_civil.tsv
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.baselines.models.options import ModelArgs
from shiftbench.cli.help import group_of
from shiftbench.validation.command_line import DataOption, JsonOption, LabelMap, answer, write_json
from shiftbench.validation.report import InvalidInput, Problem, counted

if TYPE_CHECKING:
    from rich.table import Table

    from shiftbench.baselines.attack.campaign import Outcome
    from shiftbench.builders.folder.manifest import TaskInfo
    from shiftbench.builders.folder.reader import DatasetFolder

TaskName = Annotated[str, typer.Argument(metavar="TASK", help="Task of the dataset folder, such as 'td'.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", hidden=True, help="goes in 0.4: delete the file first")]


def make(
    task: TaskName,
    data: DataOption,
    domain: Annotated[str, typer.Option("--domain", metavar="NAME", help="Domain whose test texts are attacked.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="CSV file to write, for people to fill in.")],
    victim: Annotated[
        str,
        typer.Option(
            "--victim",
            metavar="NAME",
            help="Model that is attacked: 'tfidf-lr' or 'sbert-lr', trained here on the domain's train split, or any "
            "that 'shiftbench predict' takes: a folder, Hub id, 'module:callable', .skops file, ...",
        ),
    ] = "tfidf-lr",
    label_map: LabelMap = None,
    model_arg: ModelArgs = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", hidden=True, help="goes in 0.4: set SHIFTBENCH_ENCODER instead"),
    ] = None,
    n: Annotated[int, typer.Option("--n", metavar="N", help="Texts to make, balanced over labels.", min=1)] = 823,
    queries: Annotated[
        int,
        typer.Option(
            "--queries", metavar="N", help="goes in 0.4: 100 predictions are asked for each text", min=8, hidden=True
        ),
    ] = 100,
    max_changed: Annotated[
        float,
        typer.Option(
            "--max-changed",
            metavar="X",
            min=0,
            max=1,
            hidden=True,
            help="goes in 0.4: at most 15% of a text's words get a typo",
        ),
    ] = 0.15,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed.", min=0, max=2**32 - 1)] = 0,
    overwrite: Overwrite = False,
    json_: JsonOption = None,
) -> None:
    """Make adversarial test texts, for people to judge.

    The victim is a model that must err on them; people judge them in a CSV table.

    Example: shiftbench study attack make td --data build/boss --domain civil_comments --out review.csv
    """
    import tempfile
    from dataclasses import asdict

    from shiftbench.baselines.attack.campaign import Campaign
    from shiftbench.baselines.attack.perturb import vocabulary
    from shiftbench.baselines.attack.review import check_new_file, review_table, write_whole
    from shiftbench.baselines.attack.search import SearchLimits
    from shiftbench.baselines.attack.victims import TRAINED, load_victim
    from shiftbench.baselines.models import parse_label_map
    from shiftbench.baselines.models.settings import parse_model_args
    from shiftbench.builders.folder.reader import DatasetFolder

    if encoder is not None and victim != "sbert-lr":
        raise typer.BadParameter("--encoder is for the victim sbert-lr")
    check_new_file(out, overwrite=overwrite)
    settings = parse_model_args(model_arg or ())
    folder = DatasetFolder.open(data)
    folder.refuse_withheld()
    info = _text_task(folder, task)
    rows = folder.split(task, domain, "test")
    needs_train = victim in TRAINED or "train" in info.domains[domain].splits
    train = folder.split(task, domain, "train") if needs_train else rows
    with tempfile.TemporaryDirectory(prefix="shiftbench-") as cache:
        model = load_victim(
            victim, train, info.labels, seed=seed, cache=Path(cache), encoder=encoder,
            label_map=parse_label_map(label_map or ()), settings=settings,
        )  # fmt: skip
        limits = SearchLimits(queries, max_changed)
        known = vocabulary(train["text"])
        campaign = Campaign(rows, info.labels, model, known, n=n, limits=limits, seed=seed)
        try:
            campaign.run()
        except KeyboardInterrupt:
            if fallen := campaign.choose_fallen():
                write_whole(review_table(fallen, info.labels), out)
                typer.echo(f"stopped early: {out} holds {counted(len(fallen), 'text')} found so far", err=True)
            raise
    fallen = campaign.choose_fallen()
    facts: dict[str, Any] = {"data": folder.content_hash, "settings": folder.version.settings}
    facts |= {"task": task, "domain": domain, "victim": victim}
    limited = {"queries": queries, "max_changed": max_changed, "seed": seed, "wanted": n, "made": len(fallen)}
    outcomes = campaign.outcomes()
    content = facts | limited | {"outcomes": [asdict(outcome) for outcome in outcomes]}
    answer([_outcome_table(outcomes, f"{task}, {domain}: {victim}")], content, json_)
    if not fallen:
        cure = "give another --victim"
        raise InvalidInput(Problem("no changed text makes the victim err", "--victim", f"'{victim}'", cure))
    write_whole(review_table(fallen, info.labels), out)
    few = "" if len(fallen) == n else f" of {n:,} wanted: all texts that the victim gets right were tried"
    instruction = "write yes or no into the column 'keep' of each row"
    typer.echo(f"wrote {out}: {counted(len(fallen), 'text')}{few}; {instruction}", err=True)


def collect(
    task: TaskName,
    data: DataOption,
    reviewed: Annotated[
        Path, typer.Option("--reviewed", metavar="FILE", help="The CSV file of 'make', filled in by people.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="TSV file to write, in the authors' form.")],
    overwrite: Overwrite = False,
    json_: JsonOption = None,
) -> None:
    """Write the texts that people kept in the authors' form.

    That is TSV with the columns Text and Label. A label becomes its place in the task's list of labels, from 0.

    Example: shiftbench study attack collect td --data build/boss --reviewed review.csv --out adv_civil.tsv
    """
    from shiftbench.baselines.attack.review import check_new_file, read_review, release_file, write_whole
    from shiftbench.builders.folder.reader import DatasetFolder

    check_new_file(out, overwrite=overwrite)
    folder = DatasetFolder.open(data)
    labels = _text_task(folder, task).labels
    kept = read_review(reviewed, folder.test(task), labels)
    if kept.is_empty():
        what, cure = "no row is kept", "write yes where the label still holds and the text can be understood"
        raise InvalidInput(Problem(what, str(reviewed), cure=cure, column="keep"))
    write_whole(release_file(kept, labels), out)
    counts = {label: int((kept["label"] == label).sum()) for label in labels}
    label_counts = ", ".join(f"{counts[label]:,} {label} (as {number})" for number, label in enumerate(labels))
    typer.echo(f"wrote {out}: {counted(len(kept), 'text')}, {label_counts}", err=True)
    write_json({"texts": len(kept), "labels": counts}, json_)


def _text_task(folder: "DatasetFolder", task: str) -> "TaskInfo":
    """Return a task's manifest entry; refuse a task that is not classification of a single text."""
    from shiftbench.validation.vocabulary import TaskKind

    info = folder.task(task)
    if info.kind is not TaskKind.CLASSIFICATION or info.inputs != ("text",):
        what = "only classification of a single text can be attacked"
        cure = "choose a task with the input column 'text'"
        found = f"task '{task}' of kind '{info.kind.value}' with {', '.join(info.inputs)}"
        raise InvalidInput(Problem(what, str(folder.path), found, cure))
    return info


def _outcome_table(outcomes: "list[Outcome]", title: str) -> "Table":
    """Build a table of outcomes, one row per label."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    heads = ("label", "texts", "right", "attacked", "fell", "success", "queries", "words changed", "with a sentence")
    for head in (*heads, "accuracy before", "after"):
        table.add_column(head, justify="left" if head == "label" else "right", overflow="fold")
    for one in outcomes:
        counts = [f"{count:,}" for count in (one.texts, one.right, one.attacked, one.fell)]
        queries = "n/a" if one.mean_queries is None else f"{one.mean_queries:.1f}"
        shares = [one.changed, one.with_sentence, one.accuracy_before, one.accuracy_after]
        table.add_row(one.label, *counts, _percent(one.success_rate), queries, *map(_percent, shares))
    return table


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{100 * share:.1f}%"


group = group_of("Make adversarial texts, and collect what people kept.", {"make": make, "collect": collect})
