"""The commands that make and publish datasets. Everything heavier than typer is imported inside them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from validation.command_line import JsonOption, console, writable_file, write_json

if TYPE_CHECKING:
    from builders.encoder import Encoder
    from validation.report import Problem


def build(
    benchmark: Annotated[
        str | None,
        typer.Argument(metavar="BENCHMARK", help="'dr', 'boss', 'df1', 'synthetic', or 'own' for your own CSV."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK",
            help="With 'dr', 'boss' and 'df1': one task, such as 'nli' or 'SiS-3'; default all. 'boss' also has "
            "'candidates', the data sets that it might have been made of. With 'own': its name.",
        ),
    ] = None,
    raw: Annotated[
        Path | None,
        typer.Option("--raw", metavar="DIR_OR_FILE", help="Folder of upstream files; 'own': the CSV file."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Dataset folder to write.")] = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            metavar="N",
            help="Decides, with 'dr', 'boss' and 'df1': which groups become test and validation, which rows are drawn "
            "or fill a size, the subset fewshot, and the deal of placebo tasks; "
            "'own': which groups go to which split; 'synthetic': also the texts.",
            min=0,
        ),
    ] = 0,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="With 'dr', 'boss' and 'df1': build what there is of an incomplete upstream."),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a dataset that is already at --out.")] = False,
    no_depth: Annotated[bool, typer.Option("--no-depth", help="Leave depths out: needs no encoder.")] = False,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", help="Sentence encoder of the depths: Hub id or path."),
    ] = None,
    no_placebo: Annotated[
        bool,
        typer.Option("--no-placebo", help="Leave out the placebo tasks, whose domains are dealt at random."),
    ] = False,
    withhold_labels: Annotated[
        bool,
        typer.Option(
            "--withhold-labels",
            help="Write two dataset folders, DIR/public without test labels and DIR/gold with them.",
        ),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="FILE",
            help="With 'dr', 'boss' and 'df1': write row counts and checksums of the files read as JSON.",
            callback=writable_file,
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List what upstream files build, one domain a line.")] = False,
    json_: JsonOption = None,
) -> None:
    """Build a dataset folder from upstream files, or from your own CSV.

    Example: shiftbench build dr nli --raw raw --out build/dr

    Own data: shiftbench build own tickets --raw tickets.csv --out build/tickets
    """
    from builders.building.build import build as build_benchmark
    from builders.building.build import known_benchmark, list_domains
    from builders.building.own import build_own
    from builders.building.report import print_build
    from builders.building.synthetic import build_synthetic
    from builders.cache import check_cache
    from builders.folder.manifest import GOLD_FOLDER, PUBLIC_FOLDER
    from validation.report import InvalidInput

    if list_:
        typer.echo("\n".join(list_domains(benchmark)))
        return
    if benchmark is not None:
        known_benchmark(benchmark)
    if benchmark is None or out is None:
        raise typer.BadParameter("give a benchmark and --out, or --list")
    if no_depth and encoder is not None:
        raise typer.BadParameter("--encoder is for depths, which --no-depth leaves out")
    from_upstream = {"--partial": partial, "--no-placebo": no_placebo, "--record": record}
    _refuse(benchmark, {"a task": task, "--raw": raw, **from_upstream}, "synthetic")
    _refuse(benchmark, from_upstream, "own")
    check_cache()
    common: dict[str, Any] = {"seed": seed, "overwrite": overwrite, "withhold_labels": withhold_labels}
    common["encoder"] = None if no_depth else sentence_encoder(encoder)
    failed: dict[str, tuple[Problem, ...]] = {}
    without_files: tuple[str, ...] = ()
    if benchmark == "synthetic":
        manifest = build_synthetic(out, **common)
    elif raw is None:
        raise typer.BadParameter("give --raw, the folder of upstream files ('own': the CSV file)")
    elif benchmark == "own":
        if task is None:
            raise typer.BadParameter("name your task: shiftbench build own NAME --raw FILE.csv --out DIR")
        manifest = build_own(task, raw, out, **common)
    else:
        manifest, failed, without_files = build_benchmark(
            benchmark, task, raw, out, partial=partial, placebo=not no_placebo, record=record, **common
        )
    whole = out / GOLD_FOLDER if withhold_labels else out
    print_build(whole, manifest, without_files, console(stderr=True))
    if withhold_labels:
        typer.echo(f"wrote {out / PUBLIC_FOLDER}: the same without test labels; keep {whole} to yourself", err=True)
    write_json(manifest.model_dump(mode="json", exclude={"label_key"}), json_)
    if failed:
        typer.echo(f"could not build: {', '.join(failed)}", err=True)
        raise InvalidInput(dict.fromkeys(problem for problems in failed.values() for problem in problems))


def publish(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Dataset folder, or a folder with 'public' and 'gold' of one build."),
    ],
    repo_id: Annotated[str, typer.Option("--repo-id", metavar="ORG/NAME", help="Dataset repository on the Hub.")],
    revision: Annotated[str, typer.Option("--revision", metavar="BRANCH", help="Branch to publish to.")] = "main",
    tag: Annotated[
        str | None,
        typer.Option("--tag", metavar="NAME", help="Tag of this version; default: named by format and content."),
    ] = None,
    private_gold: Annotated[
        str | None,
        typer.Option("--private-gold", metavar="ORG/NAME", help="Private repository for the withheld labels."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be sent, send nothing.")] = False,
    json_: JsonOption = None,
) -> None:
    """Publish a dataset folder to the Hugging Face Hub in one commit; nothing is sent when nothing changed.

    Domains whose licence does not allow publishing their rows are left out and named. Stopped or failed, it goes on
    where it was when run again; nobody ever sees half a version.

    Example: shiftbench publish build/dr --repo-id ORG/domain-robustness --dry-run
    """
    from builders.publishing.publish_folders import publish_folders

    content = publish_folders(
        folder,
        repo_id,
        revision,
        tag=tag,
        private_gold=private_gold,
        dry_run=dry_run,
        note=lambda line: typer.echo(line, err=True),
    )
    write_json(content, json_)


def _refuse(benchmark: str, options: dict[str, Any], by: str) -> None:
    """Refuse what was given but would be left unread by a benchmark."""
    given = [name for name, value in options.items() if value]
    if given and benchmark == by:
        raise typer.BadParameter(f"these do not apply to '{benchmark}': {', '.join(given)}")


def sentence_encoder(name: str | None = None) -> "Encoder":
    """Open a sentence encoder.

    Args:
        name: Hub id or path; the default encoder without it.
    Returns: the encoder; its model is loaded when it is first used.
    Raises: InvalidInput when its weights cannot be read or fetched.
    """
    from builders.encoder import DEFAULT_ENCODER, Encoder

    return Encoder(name or DEFAULT_ENCODER)
