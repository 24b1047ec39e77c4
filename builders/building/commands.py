"""The command that makes datasets. Everything heavier than typer is imported inside it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.validation.command_line import DomainByOption, JsonOption, console, writable_file, write_json

if TYPE_CHECKING:
    from shiftbench.builders.folder.manifest import Manifest
    from shiftbench.validation.report import Problem


def build(
    benchmark: Annotated[
        str | None,
        typer.Argument(metavar="BENCHMARK", help="'dr', 'boss', 'df1', 'synthetic', or 'own' for your own data."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK",
            help="With 'dr', 'boss' and 'df1': one task, such as 'nli' or 'SiS-3', or one domain, as 'sa.sst'; default "
            "all. 'boss' also has 'candidates', the data sets that it might have been made of. With 'own': its name.",
        ),
    ] = None,
    raw: Annotated[
        list[Path] | None,
        typer.Option(
            "--raw",
            metavar="DIR_OR_FILE",
            help="Folder of upstream files; given several times, they are searched in order. 'own': your file.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Dataset folder to write.")] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="NAME", help="'own': labels, tags, answers or texts. Default: by column names."),
    ] = None,
    domain_column: Annotated[
        str | None, typer.Option("--domain-column", metavar="NAME", help="'own': column of domains. Default: 'domain'.")
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            "--label-column",
            metavar="NAME",
            help="'own': its labels, tags, answers or target texts. Default: label, tags, answers or target_text.",
        ),
    ] = None,
    text_column: Annotated[
        list[str] | None,
        typer.Option(
            "--text-column",
            metavar="NAME",
            help="'own': its texts; twice for premise and hypothesis, or context and question. Default: those names.",
        ),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id-column", metavar="NAME", help="'own': column of ids, which must not repeat.")
    ] = None,
    split_column: Annotated[
        str | None,
        typer.Option("--split-column", metavar="NAME", help="'own': column that says train, validation or test."),
    ] = None,
    group_column: Annotated[
        str | None,
        typer.Option("--group-column", metavar="NAME", help="'own': column of what is never split, such as documents."),
    ] = None,
    domain_by: DomainByOption = None,
    min_texts: Annotated[
        int | None,
        typer.Option(
            "--min-texts",
            metavar="N",
            help="'own': domains with fewer test texts are left out of means. Default: 30.",
            min=0,
        ),
    ] = None,
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
        typer.Option(
            "--partial", help="With 'dr', 'boss' and 'df1': build from incomplete upstream files; marked partial."
        ),
    ] = False,
    from_hub: Annotated[
        bool,
        typer.Option(
            "--from-hub",
            help="With 'dr', 'boss' and 'df1': download missing files with open licences from the Hub into --raw.",
        ),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a dataset that is already at --out.")] = False,
    no_depth: Annotated[
        bool,
        typer.Option("--no-depth", help="Do not compute depths (how far texts lie from a source); needs no encoder."),
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", help="Sentence encoder of the depths: Hub id, path, or 'wordllama'."),
    ] = None,
    no_placebo: Annotated[
        bool,
        typer.Option("--no-placebo", help="Leave out placebo tasks, which show drops without any shift."),
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
            help="With 'dr', 'boss' and 'df1': write row counts and checksums of the files read, and what tells their "
            "splits from others, as JSON.",
            callback=writable_file,
        ),
    ] = None,
    other_revisions: Annotated[
        bool,
        typer.Option(
            "--other-revisions",
            help="With 'dr', 'boss' and 'df1': take files whose checksum is not the recorded one, but whose row count "
            "is; marks the dataset unverified.",
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Build nothing: print for every file whether it is there and agrees with its record."
        ),
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="List everything that can be built, one domain a line.")
    ] = False,
    json_: JsonOption = None,
) -> None:
    """Build a dataset folder from upstream files, or from your own data: CSV, JSON lines, Parquet, lines of tokens.

    Example: shiftbench build dr nli --raw raw --out build/dr

    Own data: shiftbench build own tickets --raw tickets.csv --out build/tickets
    """
    from shiftbench.builders.building.build import BENCHMARKS, check_benchmark, list_domains
    from shiftbench.builders.building.build import build as build_benchmark
    from shiftbench.builders.building.report import print_build
    from shiftbench.builders.building.synthetic import build_synthetic
    from shiftbench.builders.cache import check_cache
    from shiftbench.builders.encoder import Encoder
    from shiftbench.builders.folder.manifest import GOLD_FOLDER, PUBLIC_FOLDER
    from shiftbench.validation.report import InvalidInput

    if list_:
        typer.echo("\n".join(list_domains(benchmark)))
        return
    if benchmark is not None:
        check_benchmark(benchmark)
    if check:
        unread = {"--out": out, "--partial": partial, "--record": record, "--other-revisions": other_revisions}
        _refuse("--check", unread, "--check")
        _check(benchmark, task, raw, json_)
        return
    if benchmark is None or out is None:
        raise typer.BadParameter("give a benchmark and --out, or --list")
    if no_depth and encoder is not None:
        raise typer.BadParameter("give --encoder or --no-depth, not both")
    from_upstream = {"--partial": partial, "--no-placebo": no_placebo, "--record": record, "--from-hub": from_hub}
    from_upstream["--other-revisions"] = other_revisions
    of_own = {"--kind": kind, "--domain-column": domain_column, "--label-column": label_column,
              "--text-column": text_column, "--id-column": id_column, "--split-column": split_column,
              "--group-column": group_column, "--domain-by": domain_by, "--min-texts": min_texts}  # fmt: skip
    _refuse(benchmark, {"a task": task, "--raw": raw, **from_upstream}, "synthetic")
    _refuse(benchmark, from_upstream, "own")
    _refuse(benchmark, of_own, *BENCHMARKS, "synthetic")
    check_cache()
    common: dict[str, Any] = {"seed": seed, "overwrite": overwrite, "withhold_labels": withhold_labels}
    common["encoder"] = None if no_depth else Encoder(encoder)
    failed: dict[str, tuple[Problem, ...]] = {}
    without_files: tuple[str, ...] = ()
    if benchmark == "synthetic":
        manifest = build_synthetic(out, **common)
    elif not raw:
        raise typer.BadParameter("give --raw, the folder of upstream files ('own': your file)")
    elif benchmark == "own":
        manifest = _build_own(task, raw, out, of_own, common)
    else:
        common["other_revisions"] = other_revisions
        manifest, failed, without_files = build_benchmark(
            benchmark,
            task,
            raw,
            out,
            partial=partial,
            placebo=not no_placebo,
            record=record,
            from_hub=from_hub,
            note=lambda line: typer.echo(line, err=True),
            **common,
        )
    whole = out / GOLD_FOLDER if withhold_labels else out
    print_build(whole, manifest, without_files, console(stderr=True))
    if withhold_labels:
        typer.echo(f"wrote {out / PUBLIC_FOLDER}: the same without test labels; keep {whole} to yourself", err=True)
    write_json(manifest.model_dump(mode="json", exclude={"label_key"}), json_)
    if failed:
        typer.echo(f"not built, or built without all rows: {', '.join(failed)}", err=True)
        raise InvalidInput(dict.fromkeys(problem for problems in failed.values() for problem in problems))


def _build_own(
    task: str | None, raw: list[Path], out: Path, of_own: dict[str, Any], common: dict[str, Any]
) -> "Manifest":
    """Build own data from the options of the command line."""
    from shiftbench.builders.building.own import MIN_TEXTS, build_own
    from shiftbench.builders.building.own_columns import Columns, find_kind

    if task is None:
        raise typer.BadParameter("name your task: shiftbench build own NAME --raw FILE --out DIR")
    columns = Columns(
        of_own["--domain-column"],
        of_own["--label-column"],
        tuple(of_own["--text-column"] or ()),
        of_own["--id-column"],
        of_own["--split-column"],
        of_own["--group-column"],
        of_own["--domain-by"],
    )
    least = MIN_TEXTS if of_own["--min-texts"] is None else of_own["--min-texts"]
    return build_own(task, raw, out, columns=columns, kind=find_kind(of_own["--kind"]), min_texts=least, **common)


def _check(benchmark: str | None, task: str | None, raw: list[Path] | None, json_: str | None) -> None:
    """Print the table of upstream files; the exit status is 1 where one is there and not as recorded."""
    from shiftbench.builders.building.check import check_files, print_check

    if not raw:
        raise typer.BadParameter("give --raw, the folder of upstream files")
    files = check_files(benchmark, task, raw)
    print_check(files, console(stderr=True))
    write_json([file._asdict() for file in files], json_)
    if any(file.state == "there" for file in files):
        raise typer.Exit(1)


def _refuse(benchmark: str, options: dict[str, Any], *by: str) -> None:
    """Raise InvalidInput for options that a benchmark, or --check, would ignore."""
    given = [name for name, value in options.items() if value]
    if given and benchmark in by:
        raise typer.BadParameter(f"these do not apply to '{benchmark}': {', '.join(given)}")
