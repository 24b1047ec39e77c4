"""The group ``board``: a leaderboard's entries, rounds and Space. Imports other than typer are inside the functions."""

import tempfile
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.cli.backups import backup, restore
from shiftbench.cli.data_options import (
    FAILED,
    AnyTokenOption,
    BertScoreOption,
    DataFoldersOption,
    EntryArgument,
    EntryDataOption,
    EntryTaskOption,
    EveryEntryOption,
    FromArchiveOption,
    HubStoreOption,
    NewFolderOption,
    PrivateSpaceOption,
    PublishedDataOption,
    ReasonOption,
    SpaceArgument,
    SpaceDryRunOption,
    StoreOption,
    ToOption,
)
from shiftbench.cli.help import group_of
from shiftbench.cli.serve import ConfigOption, configured
from shiftbench.cli.serve import config as print_config
from shiftbench.validation.command_line import (
    DataOption,
    JsonOption,
    PredictionsArgument,
    print_results,
    writable_file,
    write_json,
)

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.builders.folder.configs import Config
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.store import Store
    from shiftbench.validation.versions import DataVersion


def withdraw(entry: EntryArgument, to: ToOption, any_token: AnyTokenOption = False) -> None:
    """Withdraw one of your entries.

    It is removed from the boards; the host of the leaderboard keeps its files.

    Example: shiftbench board withdraw 0123456789abcdef --to http://127.0.0.1:7860
    """
    from shiftbench.leaderboard.app.client import is_url, withdraw_at_url
    from shiftbench.leaderboard.store import LOCAL_SUBMITTER, open_store

    if is_url(to):
        withdraw_at_url(to, entry, any_token=any_token)
    else:
        open_store(to).withdraw(entry, LOCAL_SUBMITTER)
    typer.echo(f"entry {entry} is withdrawn", err=True)


def _act(act: str, target: str, to: str, reason: str, text: str = "") -> None:
    """Perform one moderation act, in a store or through a server that recognises this host."""
    from shiftbench.leaderboard.app.client import act_at_url, is_url
    from shiftbench.leaderboard.store import LOCAL_SUBMITTER, open_store
    from shiftbench.leaderboard.store.hosting import Act, Order, perform

    order = Order(Act(act), target, reason, text)
    done = act_at_url(to, order) if is_url(to) else perform(open_store(to, must_exist=True), order, LOCAL_SUBMITTER)
    typer.echo(done, err=True)


def hide(entry: EntryArgument, to: ToOption, reason: ReasonOption) -> None:
    """Hide an entry from all boards.

    Its page states that it is hidden; its files are kept.

    Example: shiftbench board hide 0123456789abcdef --to store --reason "an advertisement"
    """
    _act("hide", entry, to, reason)


def unhide(entry: EntryArgument, to: ToOption, reason: ReasonOption) -> None:
    """Show a hidden entry again.

    Example: shiftbench board unhide 0123456789abcdef --to store --reason "hidden by mistake"
    """
    _act("unhide", entry, to, reason)


def rename(
    entry: EntryArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")],
    to: ToOption,
    reason: ReasonOption,
) -> None:
    """Rename an entry.

    On the overall board it gets its own row.

    Example: shiftbench board rename 0123456789abcdef "A copy of BERT" --to store --reason "posed as another model"
    """
    _act("rename", entry, to, reason, name)


def annotate(
    entry: EntryArgument,
    note: Annotated[str, typer.Argument(metavar="NOTE", help="Text of the note; empty removes the note.")],
    to: ToOption,
    reason: ReasonOption,
) -> None:
    """Attach a public note to an entry.

    Example: shiftbench board annotate 0123456789abcdef "Trained on the test texts" --to store --reason "its author"
    """
    _act("annotate", entry, to, reason, note)


AccountArgument = Annotated[
    str, typer.Argument(metavar="ACCOUNT", help="Name of a submitter, as shown with its entries.")
]


def ban(
    account: AccountArgument,
    to: ToOption,
    reason: ReasonOption,
    lift: Annotated[bool, typer.Option("--lift", help="Lift the ban.")] = False,
) -> None:
    """Ban an account from submitting. Its entries stay on the boards.

    Example: shiftbench board ban ann --to store --reason "forty advertisements"
    """
    _act("unban" if lift else "ban", account, to, reason)


def erase(
    account: AccountArgument,
    to: ToOption,
    reason: ReasonOption,
    yes: Annotated[
        bool, typer.Option("--yes", help="Erase; without this option, only list what would be erased.")
    ] = False,
) -> None:
    """Erase an account: its name, its entries and their files.

    It cannot be undone. The entries' ids remain as tombstones.

    Example: shiftbench board erase ann --to store --reason "asked for it" --yes
    """
    from shiftbench.leaderboard.app.client import is_url
    from shiftbench.leaderboard.store import open_store
    from shiftbench.leaderboard.store.hosting import erasable

    if yes:
        _act("erase", account, to, reason)
        return
    if not is_url(to):
        for identity in erasable(open_store(to, must_exist=True), account):
            typer.echo(f"would erase entry {identity}", err=True)
    typer.echo(f"nothing was erased: run it again with --yes to erase '{account}' permanently", err=True)


def log(
    store: StoreOption,
    verify: Annotated[bool, typer.Option("--verify", help="Verify every line, and the store against the log.")] = False,
    json_: JsonOption = None,
) -> None:
    """Print the log of a store, oldest first, or verify it.

    Verification fails, with exit code 3, if a line was altered, removed, duplicated or moved.

    Example: shiftbench board log --store store --verify
    """
    from msgspec import to_builtins

    from shiftbench.leaderboard.store import open_store
    from shiftbench.leaderboard.store.audit import event_line
    from shiftbench.leaderboard.store.audit import verify as verify_log

    opened = open_store(store, must_exist=True)
    if not verify:
        events = opened.log.events
        people = dict(opened.log.people)
        print_results(
            (event_line(each, people) for each in events), {"events": to_builtins(events), "people": people}, json_
        )
        return
    found = verify_log(opened)
    lines = [*found.problems, f"{found.events:,} events, the last one {found.hash or 'none'}"]
    print_results(lines, {"events": found.events, "hash": found.hash, "problems": found.problems}, json_)
    if found.problems:
        raise typer.Exit(FAILED)


def rescore(
    store: StoreOption,
    data: DataFoldersOption,
    archive: FromArchiveOption = None,
    every: EveryEntryOption = False,
    json_: JsonOption = None,
) -> None:
    """Score a store's entries again, and show changes of rank.

    Ranks are compared with those of the newest other metric version.

    Example: shiftbench board rescore --store store --data build/dr
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.store import open_store
    from shiftbench.leaderboard.store.rescore import rescore as rescore_store
    from shiftbench.leaderboard.store.rescore import rescored_lines

    folders = [DatasetFolder.open(folder) for folder in data]
    for folder in folders:
        folder.refuse_withheld()
    opened = open_store(store, must_exist=archive is None)
    if archive is not None:
        _fill(opened, archive, folders)
    rescored = rescore_store(opened, folders, every=every)
    print_results(rescored_lines(rescored), rescored.as_dict(), json_)


def _fill(store: "Store", archive: Path, folders: "list[DatasetFolder]") -> None:
    from shiftbench.leaderboard.archive.open_archive import fill_store
    from shiftbench.validation.report import InvalidInput, Problem

    n_filled, failed = fill_store(store, archive, folders)
    if failed and not n_filled:
        what, cure = "no entry of the archive can be read", "fetch the archive again"
        raise InvalidInput(Problem(what, str(archive), next(iter(failed.values())), cure))
    typer.echo(f"{archive}: {n_filled:,} of its entries are in the store", err=True)
    for identity, reason in failed.items():
        typer.echo(f"skipped {identity}: {reason}", err=True)


def publish_space(
    repo_id: SpaceArgument,
    config: ConfigOption = None,
    data: PublishedDataOption = None,
    store: HubStoreOption = None,
    bert_score: BertScoreOption = False,
    private: PrivateSpaceOption = False,
    dry_run: SpaceDryRunOption = False,
    json_: JsonOption = None,
) -> None:
    """Create or update a leaderboard's Space on the Hub.

    Everything is uploaded in one commit. The Space needs a secret HF_TOKEN that may write to the entries' repository.
    Its configuration is --config, or is made from --data and --store. Without these options, the Space's own
    configuration is kept, so to update a Space only its name is needed.

    Example: shiftbench board publish-space ORG/leaderboard --data ORG/domain-robustness --store ORG/entries --dry-run
    """
    from shiftbench.leaderboard.app.space import SpaceConfig, check_names, space_files
    from shiftbench.leaderboard.app.space import publish_space as create

    settings = SpaceConfig(_board_of_space(repo_id, config, data, store, ask_hub=not dry_run), bert_score)
    check_names(repo_id, settings)
    files = space_files(settings)
    size = sum(map(len, files.values()))
    if dry_run:
        for path, content in sorted(files.items()):
            typer.echo(f"{len(content):>9,}  {path}", err=True)
        typer.echo(f"{len(files)} files, {size:,} bytes; nothing was sent", err=True)
        write_json({"url": None, "files": sorted(files)}, json_)
        return
    url = create(repo_id, settings, private=private)
    typer.echo(f"the Space is at {url}; set the secret HF_TOKEN in its settings", err=True)
    write_json({"url": url, "files": sorted(files)}, json_)


def _board_of_space(
    repo_id: str, file: Path | None, data: Sequence[str] | None, store: str | None, *, ask_hub: bool
) -> str:
    """Return the content of a Space's configuration file."""
    from shiftbench.leaderboard.app.space import CONFIG, new_board, published_board
    from shiftbench.validation.report import InvalidInput, Problem

    if file is not None and (data or store):
        raise typer.BadParameter("--config already sets data and store: omit --data and --store")
    if file is not None:
        configured(file)  # reports every problem
        return file.read_text(encoding="utf-8")
    if bool(data) != bool(store):
        raise typer.BadParameter("give both --data and --store, or neither")
    made = new_board(data, store) if data and store else None
    there = published_board(repo_id) if ask_hub or made is None else None
    if there is None and made is None:
        cure = "give --config, or --data and --store"
        raise InvalidInput(Problem(f"this Space has no {CONFIG} yet", repo_id, cure=cure))
    if there is not None and made not in (None, there):
        cure = "omit --data and --store to keep it, or give --config FILE to replace it"
        raise InvalidInput(Problem(f"this Space already has a different {CONFIG}", repo_id, cure=cure))
    return made or there or ""


def nominate(
    entry: EntryArgument,
    to: ToOption,
    task: EntryTaskOption = "",
    data: EntryDataOption = None,
    any_token: AnyTokenOption = False,
) -> None:
    """Nominate one of your entries for the next round.

    A round ranks the nominated entries on withheld labels. Only your last nomination counts.

    Example: shiftbench board nominate 0123456789abcdef --to http://127.0.0.1:7860
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.app.client import built_here, is_url, nominate_at_url
    from shiftbench.leaderboard.release import nominate as nominate_in_store
    from shiftbench.leaderboard.store import LOCAL_SUBMITTER, open_store

    if is_url(to):
        typer.echo(nominate_at_url(to, entry, task, any_token=any_token)["note"], err=True)
        return
    store = open_store(to)
    folders = [DatasetFolder.open(folder) for folder in data or ()] or [built_here(store.entry(entry).card)]
    tasks = nominate_in_store(store, entry, LOCAL_SUBMITTER, folders, task)
    typer.echo(f"entry {entry} is nominated for {', '.join(tasks)}", err=True)


def release_round(
    store: StoreOption, data: DataFoldersOption, config: ConfigOption = None, json_: JsonOption = None
) -> None:
    """Close this quarter's round, and release its ranks for good.

    The nominated entries are ranked on withheld labels. Only the significant differences between them are released, no
    scores. A second run in the same quarter changes nothing and prints what the round released. Minimum age of a ranked
    account: rounds.account_days of the configuration, by default 30.

    Example: shiftbench board release-round --store store --data build/tickets/gold
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.release import close_round, round_lines, round_of_quarter
    from shiftbench.leaderboard.store import open_store

    where = open_store(store)
    folders = [DatasetFolder.open(folder) for folder in data]
    closed = round_of_quarter(where)
    if closed is None:
        closed = close_round(where, folders, account_days=configured(config).rounds.account_days)
    else:
        typer.echo(
            f"round {closed.name} was already closed on {closed.closed_on} and released the following",
            err=True,
        )
    print_results(round_lines(closed), closed.model_dump(mode="json"), json_)


_TITLE = "Predictions and scores under domain shift"


def archive(store: StoreOption, data: DataFoldersOption, out: NewFolderOption, json_: JsonOption = None) -> None:
    """Write a store's shared entries as one open dataset.

    It contains predictions, scores and cards of the entries whose cards allow it. Entries on withheld labels, accounts
    and contacts are excluded. After an interruption, run the command again to continue.

    Example: shiftbench board archive --store store --data build/dr --out archive
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.archive.open_archive import write_archive
    from shiftbench.leaderboard.store import open_store

    folders = [DatasetFolder.open(folder) for folder in data]
    opened = open_store(store, must_exist=True)
    archived = write_archive(opened, folders, out, _describe)
    for reason in archived.left_out.values():
        typer.echo(f"skipped: {reason}", err=True)
    typer.echo(f"wrote {out}: {archived.predictions:,} predictions, entries: {len(archived.entries):,}", err=True)
    write_json({"entries": archived.entries, "predictions": archived.predictions, "left_out": archived.left_out}, json_)


def _describe(configs: "Sequence[Config]", entries: "pl.DataFrame") -> dict[str, str]:
    """Build the dataset card and Croissant metadata of an archive."""
    from shiftbench.builders.writing.croissant import CROISSANT, croissant_text
    from shiftbench.builders.writing.writer import README

    boards = entries.group_by("benchmark", "data", "subset").len().sort("benchmark", "data", "subset")
    summary = (
        "Model predictions for every test text of shiftbench's benchmarks, and the scores, for research on "
        "robustness. It contains the entries whose submitters made their predictions public, on data with public test "
        "labels."
    )
    facts = {
        "name": _TITLE,
        "description": summary,
        "inLanguage": "en",
        "license": "not stated for predictions; the models' licences are in the cards",
    }
    lines = [
        f"# {_TITLE}\n",
        f"{summary}\n",
        "| benchmark | data | subset | entries |\n|---|---|---|---:|",
        *(f"| {row[0]} | `{row[1][:12]}` | {row[2]} | {row[3]:,} |" for row in boards.iter_rows()),
        "\n| config | rows | content |\n|---|---:|---|",
        *(f"| `{config.name}` | {config.rows['test']:,} | {config.title} |" for config in configs),
        "\n## Columns\n",
        *(f"- `{config.name}`: {', '.join(column.name for column in config.columns)}" for config in configs),
        _LOADING,
    ]
    return {README: _front_matter(configs) + "\n" + "\n".join(lines), CROISSANT: croissant_text(facts, configs)}


def _front_matter(configs: "Sequence[Config]") -> str:
    from shiftbench.builders.writing.front_matter import fence_yaml, loading_keys, size_category

    return fence_yaml(
        {
            "pretty_name": _TITLE,
            "language": ["en"],
            "license": "other",
            "license_name": "by-entry",
            "size_categories": [size_category(configs[0].rows["test"])],
            "tags": ["domain-shift", "robustness", "shiftbench", "predictions"],
            **loading_keys(configs),
        }
    )


_LOADING = """
A prediction's `id` refers to a test text of the dataset whose content hash is in column `data` of `entries`; `source`
is the training domain, `target` the domain of the text. Scores are fractions, drops in [-1, 1]; `low` and `high` are
the bounds of 95% intervals over test texts, `total_low` and `total_high` over test texts and training runs. Entries
contain no accounts or contacts; an id is a hash of card, predictions and validation rows. The licence of each model
is in its card.

## Loading

```python
from datasets import load_dataset

load_dataset(REPO, "predictions", split="test")
load_dataset(REPO, "figures", split="test")
```

To score all entries again: `shiftbench board rescore --from-archive DIR --store NEW --data DATASET_FOLDER`.
"""


class ShareFormat(StrEnum):
    """Output format of shared results."""

    EVAL_RESULTS = "eval-results"
    EVERY_EVAL_EVER = "every-eval-ever"
    CSV = "csv"


class EvaluatorIs(StrEnum):
    """The evaluator's relationship to the model's developers."""

    FIRST_PARTY = "first_party"
    THIRD_PARTY = "third_party"
    COLLABORATIVE = "collaborative"
    OTHER = "other"


def share(
    entry: Annotated[
        str,
        typer.Argument(
            metavar="ENTRY",
            help="Id of an entry in --store, a prediction file, or the output of 'score --json' for one.",
        ),
    ],
    to: Annotated[
        ShareFormat,
        typer.Option("--to", metavar="FORMAT", help="eval-results (Hub), every-eval-ever or csv."),
    ],
    data: Annotated[
        str, typer.Option("--data", metavar="DIR_OR_NAME", help="Dataset folder, or ORG/NAME of a published one.")
    ],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder to write, empty or new.")] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="PLACE", help="Store of the entry: a folder, or hf://datasets/ORG/NAME."),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(
            "--card", hidden=True, help="removed in 0.4: the card next to the file, NAME.card.yaml, is read by default"
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="ORG/NAME", help="The model's repository. Default: model_url of the card."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", metavar="ORG/NAME", help="Hub repository of the data. Default: --data, if it is one."
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="URL", help="removed in 0.4: write the URL into the shared file", hidden=True),
    ] = None,
    organization: Annotated[
        str | None,
        typer.Option(
            "--organization",
            metavar="NAME",
            help="every-eval-ever: name of the evaluator; the ORG of --model counts as the model's developer.",
        ),
    ] = None,
    evaluator: Annotated[
        EvaluatorIs | None,
        typer.Option(
            "--evaluator",
            hidden=True,
            help="removed in 0.4: --organization is the evaluator; the ORG of --model counts as first_party",
        ),
    ] = None,
    create_pr: Annotated[
        bool, typer.Option("--create-pr", help="Send the results as a pull request to the model or to EEE_datastore.")
    ] = False,
    json_: JsonOption = None,
) -> None:
    """Write an entry's results for a model's page on the Hub.

    Alternatively for the datastore of Every Eval Ever, or as CSV.

    Example: shiftbench board share preds.parquet --to eval-results --data build/dr --dataset ORG/domain-robustness
    --model ORG/model --out shared
    """
    from shiftbench.checking.shared_files import open_shared, send_shared, write_shared
    from shiftbench.validation.output_files import check_new_folder, replace_folder

    if out is None and not create_pr:
        raise typer.BadParameter("give --out, a folder to write, or --create-pr")
    if create_pr and to is ShareFormat.CSV:
        raise typer.BadParameter("--create-pr does not send CSV; give --out without it")
    if organization is not None and to is not ShareFormat.EVERY_EVAL_EVER:
        raise typer.BadParameter("--organization needs --to every-eval-ever")
    if organization is None and to is ShareFormat.EVERY_EVAL_EVER:
        raise typer.BadParameter("give --organization: Every Eval Ever requires the evaluator's name")
    if out is not None:
        check_new_folder(out, "--out")
    shared = open_shared(entry, data, store=store, card=card, model=model, dataset=dataset, report=report)
    url = None
    with tempfile.TemporaryDirectory(prefix="shiftbench-") if out is None else replace_folder(out) as folder:
        files = write_shared(shared, to, Path(folder), organization or "", evaluator)
        if create_pr:
            url = send_shared(shared, to, files)
            typer.echo(f"pull request: {url}", err=True)
    if out is not None:
        for path in sorted(files):
            typer.echo(f"wrote {out / path}", err=True)
    write_json({"files": sorted(files), "pull_request": url}, json_)


_GUESSED = ("name", "paradigm", "data", "settings", "subset")
"""Keys of a card that are filled in from the predictions and the dataset."""


def card(
    predictions: PredictionsArgument,
    data: DataOption,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The card. Default: FILE.card.yaml next to the predictions.",
                     callback=writable_file),
    ] = None,
) -> None:  # fmt: skip
    """Write a card for predictions, to be completed.

    It contains the keys known from the file; the other keys are comments.

    Example: shiftbench board card preds.csv --data build/dr
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.validation.cards import card_path
    from shiftbench.validation.report import InvalidInput, Problem

    place = out or card_path(predictions)
    if place.exists():
        cure = "edit it, delete it, or choose another file with --out"
        raise InvalidInput(Problem("the card already exists", str(place), cure=cure))
    folder = DatasetFolder.open(data)
    sources, given = _sources_and_ids(predictions, folder)
    text = _card_text(predictions.stem, sources, _subset(given, folder), folder.version)
    place.write_text(text, encoding="utf-8")
    typer.echo(
        f"{place}: fill in what you know, then: shiftbench data validate {predictions} --data {data} --card {place}"
    )


def _sources_and_ids(path: Path, folder: "DatasetFolder") -> "tuple[set[str], pl.DataFrame]":
    """Return the sources of a file, and its known ids with their tasks and targets."""
    import polars as pl

    from shiftbench.scoring.scores.score import prediction_tasks
    from shiftbench.validation.prediction_files import PredictionFile
    from shiftbench.validation.predictions import most_rows
    from shiftbench.validation.report import InvalidInput, Problem
    from shiftbench.validation.runs import KnownIds

    tasks = prediction_tasks(folder)
    # Only sources and ids are needed; the predictions may still have problems.
    parts = PredictionFile(path, most_rows(tasks)).parts(["source", "id"])
    pairs = pl.concat([part.select("source", "id").unique() for part in parts]).unique()
    given = KnownIds({facts.name: facts.test for facts in tasks}).locate_ids(pairs.select("id").unique().drop_nulls())
    known = given.drop_nulls("task")
    if known.is_empty():
        what = "none of the ids is a test id of this dataset"
        found = repr(pairs["id"][0])
        raise InvalidInput(Problem(what, str(path), found, "give the matching --data", column="id"))
    return set(pairs["source"].drop_nulls()), known


def _subset(given: "pl.DataFrame", folder: "DatasetFolder") -> str:
    """Return the subset whose test ids a file covers in all its tasks; ``all`` if there is none."""
    from shiftbench.scoring.scores.score import prediction_tasks
    from shiftbench.validation.prediction_problems import covered_subsets

    covered = covered_subsets(given, prediction_tasks(folder))
    names = {covered.get(task, "all") for task in given["task"].unique()}
    return names.pop() if len(names) == 1 else "all"


def _card_text(name: str, sources: set[str], subset: str, version: "DataVersion") -> str:
    """Build the text of the card, and validate it."""
    import yaml

    from shiftbench.validation.cards import Card, parse_card
    from shiftbench.validation.vocabulary import NO_SOURCE

    paradigm = "zero-shot" if sources == {NO_SOURCE} else "fine-tuned"
    reason = "no prediction has a source" if paradigm == "zero-shot" else "the predictions have sources"

    def line(key: str, value: str) -> str:
        return yaml.safe_dump({key: value}, allow_unicode=True, width=10_000).strip()

    properties = Card.model_json_schema()["properties"]
    lines = [
        "# Taken or guessed from the file; correct what is wrong.",
        line("name", name),
        f"# A guess, because {reason}; or one of {', '.join(properties['paradigm']['enum'])}.",
        line("paradigm", paradigm),
        line("data", version.content),
        *([line("settings", version.settings)] if version.settings else []),
        line("subset", subset),
        "",
        "# Optional keys: remove the '#' and write a value.",
    ]
    for key, schema in properties.items():
        if key not in _GUESSED:
            lines.append(f"# {key}:  # {_meaning(key, schema)}")
    text = "\n".join(lines) + "\n"
    parse_card(text)
    return text


def _meaning(key: str, schema: dict[str, object]) -> str:
    described = schema.get("description") or key.replace("_", " ").capitalize()
    choices = schema.get("enum")
    return f"{described}: {', '.join(map(str, choices))}" if isinstance(choices, list) else str(described)


group = group_of(
    "Manage a leaderboard: its entries, rounds and Space.",
    {
        "config": print_config,
        "log": log,
        "hide": hide,
        "unhide": unhide,
        "rename": rename,
        "annotate": annotate,
        "ban": ban,
        "erase": erase,
        "withdraw": withdraw,
        "nominate": nominate,
        "rescore": rescore,
        "archive": archive,
        "backup": backup,
        "restore": restore,
        "release-round": release_round,
        "share": share,
        "card": card,
        "publish-space": publish_space,
    },
)
