"""The group ``build``: writes dataset folders of benchmarks and user data. Imports are inside the functions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.builders.specs.benchmarks import spec_files
from shiftbench.cli.data_options import AcceptTermsOption, UpstreamOption
from shiftbench.cli.fetch import fetch_files
from shiftbench.cli.help import PLAIN, Command, Group, print_former_note
from shiftbench.validation.command_line import (
    OUTPUT,
    ColumnsOption,
    JsonOption,
    MinTextsOption,
    show,
    with_options,
    writable_file,
    write_json,
)

if TYPE_CHECKING:
    from shiftbench.builders.building.build import Built
    from shiftbench.builders.building.spec_tasks import OwnBenchmark
    from shiftbench.builders.encoder import Encoder
    from shiftbench.builders.folder.manifest import Manifest

_OURS = tuple(path.stem for path in spec_files())
_BENCHMARKS = ("dr", "boss", "df1", *_OURS)
_NO_ENCODER = "none"

_OUT = typer.Option("--out", metavar="DIR", help="Dataset folder to write.", rich_help_panel=OUTPUT)
_Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace a dataset that is already at --out.", rich_help_panel=OUTPUT),
]
_WithholdLabels = Annotated[
    bool,
    typer.Option(
        "--withhold-labels",
        help="Write two dataset folders, DIR/public without test labels and DIR/gold with them.",
        rich_help_panel=OUTPUT,
    ),
]
_EncoderName = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="Sentence encoder for depths (distances of texts from a source): Hub id, path, or 'wordllama'; 'none' "
        "skips depths. Default: SHIFTBENCH_ENCODER, otherwise all-MiniLM-L6-v2, which is slow.",
    ),
]
_OtherRevisions = Annotated[
    bool,
    typer.Option(
        "--other-revisions",
        help="Accept files with another checksum if their row count is the recorded one; the card marks them as "
        "matching no record",
        hidden=True,
    ),
]

_Partial = Annotated[
    bool, typer.Option("--partial", help="Build from incomplete upstream files; the dataset is marked as partial.")
]
_Fetch = Annotated[bool, typer.Option("--fetch", help="Download missing files first, as 'shiftbench data fetch' does.")]
_Check = Annotated[
    bool,
    typer.Option(
        "--check", help="Build nothing; print for every file whether it is present and agrees with its record."
    ),
]


@dataclass(frozen=True)
class _FromUpstream:
    """Options of the benchmarks that are built from upstream files."""

    raw: UpstreamOption
    out: Annotated[Path | None, _OUT] = None
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            metavar="N",
            help="another seed splits and samples differently: scores are then not comparable with others",
            min=0,
            hidden=True,
        ),
    ] = 0
    partial: _Partial = False
    fetch: _Fetch = False
    accept_terms: AcceptTermsOption = None
    overwrite: _Overwrite = False
    encoder: _EncoderName = None
    no_placebo: Annotated[
        bool,
        typer.Option("--no-placebo", help="removed in 0.4: placebo tasks can be ignored", hidden=True),
    ] = False
    record: Annotated[
        Path | None,
        typer.Option(
            "--record",
            metavar="FILE",
            help="for authors of benchmarks: write measured facts of the files read",
            callback=writable_file,
            hidden=True,
        ),
    ] = None
    other_revisions: _OtherRevisions = False
    check: _Check = False
    json_: JsonOption = None


@dataclass(frozen=True)
class _Withholdable(_FromUpstream):
    """Options of benchmarks whose test labels can be withheld; those of pairings cannot."""

    withhold_labels: _WithholdLabels = False


class _Builds(Group):
    """The group ``build``, which also accepts ``--list`` and ``--check`` as the former version did."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace former options by current ones, with a line on standard error."""
        typed, first, others = list(args), args[:1], args[1:]
        if first == ["--list"] or (others == ["--list"] and first[0] in _BENCHMARKS):
            args = ["list", *(others if first == ["--list"] else first)]
        elif first == ["--check"]:
            args = (
                [others[0], "--check", *others[1:]] if others[:1] and others[0] in _BENCHMARKS else ["check", *others]
            )
        if args != typed:
            # The former command checked all benchmarks; the line names the current command for one of them.
            today = ["dr", "--check", *others] if args[0] == "check" else args
            print_former_note(ctx, [ctx.command_path, *typed], [ctx.command_path, *today])
        rest: list[str] = super().parse_args(ctx, args)
        return rest


@with_options
def dr(
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="One task, such as 'nli', or one domain, as 'sa.books'. Default: all."),
    ] = None,
    *,
    options: _Withholdable,
) -> None:
    """Build Domain Robustness from its upstream files.

    Example: shiftbench build dr nli --raw raw --out build/dr
    """
    _build_from_upstream("dr", task, options, withhold_labels=options.withhold_labels)


@with_options
def boss(
    task: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK",
            help="One task, such as 'ner', or one domain, as 'sa.sst'; 'candidates': the paper's candidate data sets. "
            "Default: all.",
        ),
    ] = None,
    *,
    options: _Withholdable,
) -> None:
    """Build BOSS from its upstream files.

    Example: shiftbench build boss sa --raw raw --out build/boss
    """
    _build_from_upstream("boss", task, options, withhold_labels=options.withhold_labels)


@with_options
def df1(
    pairing: Annotated[
        str | None, typer.Argument(metavar="PAIRING", help="One pairing, such as 'SiS-3'. Default: all.")
    ] = None,
    *,
    options: _FromUpstream,
) -> None:
    """Build the pairings of the Depth F1 paper.

    Example: shiftbench build df1 SiS-3 --raw raw --out build/df1
    """
    _build_from_upstream("df1", pairing, options, withhold_labels=False)


def _from_spec(name: str) -> Callable[..., None]:
    """Return the command that builds one of our benchmarks from its spec."""

    def command(
        task: Annotated[
            str | None, typer.Argument(metavar="TASK", help="One task, or one domain, as 'task.domain'. Default: all.")
        ] = None,
        *,
        options: _Withholdable,
    ) -> None:
        _build_from_upstream(name, task, options, withhold_labels=options.withhold_labels)

    command.__doc__ = f"""Build {name} from its upstream files.

    Example: shiftbench build {name} --raw raw --out build/{name}
    """
    return with_options(command)


def own(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name of the task; with --spec, the one task to build."),
    ] = None,
    raw: Annotated[
        list[Path] | None,
        typer.Option(
            "--raw",
            metavar="FILE_OR_DIR",
            help="CSV, JSON lines, Parquet or token lines; if several (or a folder of them), each is a domain. With "
            "--spec: folder of the files that are not next to it.",
        ),
    ] = None,
    out: Annotated[Path | None, _OUT] = None,
    spec: Annotated[
        Path | None,
        typer.Option(
            "--spec", metavar="FILE", help="TOML file that describes a benchmark: tasks, domains, files, sources."
        ),
    ] = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Record the contents of the files of --spec next to it; later builds compare with the record.",
        ),
    ] = False,
    columns: ColumnsOption = None,
    min_texts: MinTextsOption = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed for splitting groups.", min=0)] = 0,
    partial: _Partial = False,
    other_revisions: _OtherRevisions = False,
    fetch: _Fetch = False,
    accept_terms: AcceptTermsOption = None,
    check: _Check = False,
    overwrite: _Overwrite = False,
    encoder: _EncoderName = None,
    withhold_labels: _WithholdLabels = False,
    json_: JsonOption = None,
) -> None:
    """Build your own data: a table, or a benchmark (--spec).

    Example: shiftbench build own tickets --raw tickets.csv --columns domain=site --out build/tickets
    """
    if spec is None:
        of_spec = {"--record": record, "--partial": partial, "--other-revisions": other_revisions, "--fetch": fetch,
                   "--accept-terms": accept_terms, "--check": check}  # fmt: skip
        _refuse(of_spec, "without --spec")
        if name is None or not raw or out is None:
            raise typer.BadParameter("give NAME, --raw and --out; or --spec")
        _build_rows(
            name, raw, out, columns, min_texts, seed, overwrite, encoder, json_, withhold_labels=withhold_labels
        )
        return
    from shiftbench.builders.building.spec_tasks import open_spec

    # A record covers all tasks of the benchmark, so it cannot be combined with the name of one.
    _refuse({"--columns": columns, "--min-texts": min_texts is not None, "NAME": record and name}, "to this --spec")
    bench = open_spec(spec)
    if fetch and out is None:
        if not fetch_files(bench, name, raw or [], accept_terms or [], json_=json_):
            raise typer.Exit(1)
        return
    options = _FromUpstream(
        raw=raw or [],
        out=out,
        seed=seed,
        partial=partial,
        fetch=fetch,
        accept_terms=accept_terms,
        overwrite=overwrite,
        encoder=encoder,
        record=bench.lock if record else None,
        other_revisions=other_revisions,
        check=check,
        json_=json_,
    )
    _build_from_upstream(bench, name, options, withhold_labels=withhold_labels)


def _refuse(given: Mapping[str, object], where: str) -> None:
    """Raise a usage error for options that were given but would be ignored."""
    if names := [name for name, value in given.items() if value]:
        raise typer.BadParameter(f"these options do not apply {where}: {', '.join(names)}")


def _build_rows(
    name: str,
    raw: list[Path],
    out: Path,
    columns: list[str] | None,
    min_texts: int | None,
    seed: int,
    overwrite: bool,
    encoder: str | None,
    json_: str | None,
    *,
    withhold_labels: bool,
) -> None:
    """Build a task from user files."""
    from shiftbench.builders.building.own import MIN_TEXTS, build_own
    from shiftbench.builders.building.own_columns import parse_columns

    named, kind = parse_columns(columns or [])
    manifest = build_own(
        name,
        raw,
        out,
        columns=named,
        kind=kind,
        min_texts=MIN_TEXTS if min_texts is None else min_texts,
        seed=seed,
        overwrite=overwrite,
        encoder=_open_encoder(encoder),
        withhold_labels=withhold_labels,
    )
    _print_built(out, manifest, (), json_, withhold_labels=withhold_labels)


def synthetic(
    out: Annotated[Path, _OUT],
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed for texts and splits.", min=0)] = 0,
    overwrite: _Overwrite = False,
    encoder: _EncoderName = None,
    withhold_labels: Annotated[
        bool,
        typer.Option(
            "--withhold-labels", hidden=True, help="write two folders into OUT, 'public' and 'gold', for trying rounds"
        ),
    ] = False,
    json_: JsonOption = None,
) -> None:
    """Build a small corpus of invented texts, offline.

    Example: shiftbench build synthetic --out build/synthetic
    """
    from shiftbench.builders.building.synthetic import build_synthetic

    opened = _open_encoder(encoder)
    manifest = build_synthetic(out, seed=seed, overwrite=overwrite, encoder=opened, withhold_labels=withhold_labels)
    _print_built(out, manifest, (), json_, withhold_labels=withhold_labels)


def list_(
    benchmark: Annotated[
        str | None, typer.Argument(metavar="BENCHMARK", help="'dr', 'boss' or 'df1'. Default: all.")
    ] = None,
) -> None:
    """List what can be built from upstream files.

    Example: shiftbench build list dr
    """
    from shiftbench.builders.building.build import list_domains

    typer.echo("\n".join(list_domains(benchmark)))


def check(raw: UpstreamOption, json_: JsonOption = None) -> None:
    """Check the upstream files of all benchmarks, as ``build --check`` did in the former version.

    Example: shiftbench build dr --check --raw raw
    """
    _check_files(None, None, raw, json_)


def _build_from_upstream(
    benchmark: "str | OwnBenchmark", task: str | None, options: _FromUpstream, *, withhold_labels: bool
) -> None:
    """Build a benchmark, or check its files."""
    from shiftbench.builders.building.build import build as build_benchmark

    if options.check:
        unread = {"--out": options.out, "--partial": options.partial, "--record": options.record,
                  "--other-revisions": options.other_revisions, "--fetch": options.fetch}  # fmt: skip
        if given := [name for name, value in unread.items() if value]:
            raise typer.BadParameter(f"these options do not apply to --check: {', '.join(given)}")
        _check_files(benchmark, task, options.raw, options.json_)
        return
    if options.out is None:
        raise typer.BadParameter("give --out, the folder to write, or --check")
    if options.accept_terms and not options.fetch:
        raise typer.BadParameter("--accept-terms needs --fetch")
    if options.fetch:
        fetch_files(benchmark, task, options.raw, options.accept_terms or [])
    built = build_benchmark(
        benchmark,
        task,
        options.raw,
        options.out,
        seed=options.seed,
        partial=options.partial,
        overwrite=options.overwrite,
        encoder=_open_encoder(options.encoder),
        placebo=not options.no_placebo,
        record=options.record,
        withhold_labels=withhold_labels,
        other_revisions=options.other_revisions,
    )
    _print_all(options.out, built, options.json_, withhold_labels=withhold_labels)
    if options.record is not None:
        typer.echo(f"recorded in {options.record}; builds without --record compare files with it", err=True)


def _print_all(out: Path, built: "Built", json_: str | None, *, withhold_labels: bool) -> None:
    """Print what was built, and raise InvalidInput with the problems of tasks that could not be built."""
    from shiftbench.validation.report import InvalidInput

    manifest, failed, without_files = built
    _print_built(out, manifest, without_files, json_, withhold_labels=withhold_labels)
    if failed:
        typer.echo(f"not built, or incomplete: {', '.join(failed)}", err=True)
        raise InvalidInput(dict.fromkeys(problem for problems in failed.values() for problem in problems))


def _open_encoder(name: str | None) -> "Encoder | None":
    """Open the encoder of depths; None for 'none'. Raises InvalidInput at once if the cache is not writable."""
    from shiftbench.builders.cache import check_cache
    from shiftbench.builders.encoder import Encoder

    check_cache()
    return None if name == _NO_ENCODER else Encoder(name)


def _print_built(
    out: Path, manifest: "Manifest", without_files: Iterable[str], json_: str | None, *, withhold_labels: bool
) -> None:
    """Print what was built, and write its manifest as JSON."""
    from shiftbench.builders.building.report import build_lines
    from shiftbench.builders.folder.manifest import GOLD_FOLDER, PUBLIC_FOLDER
    from shiftbench.builders.folder.reader import DatasetFolder

    whole = out / GOLD_FOLDER if withhold_labels else out
    show(build_lines(whole, manifest, tuple(without_files)), stderr=True)
    if withhold_labels:
        from shiftbench.leaderboard.release import too_small_lines

        typer.echo(f"wrote {out / PUBLIC_FOLDER}: the same without test labels; do not publish {whole}", err=True)
        for line in too_small_lines(DatasetFolder.open(whole)):
            typer.echo(line, err=True)
    write_json(manifest.model_dump(mode="json", exclude={"label_key"}), json_)


def _check_files(benchmark: "str | OwnBenchmark | None", task: str | None, raw: list[Path], json_: str | None) -> None:
    """Print the table of upstream files; the exit status is 1 if a file is missing, or differs from its record."""
    from shiftbench.builders.building.availability import available_files, available_lines, fetch_command
    from shiftbench.builders.building.spec_tasks import OwnBenchmark

    files = available_files(benchmark, task, raw)
    show(available_lines(files), stderr=True)
    missing = {file.source.slug: file.source for file in files if file.is_missing and file.download}
    if missing:
        asking = [slug for slug, source in missing.items() if source.terms]
        own = benchmark if isinstance(benchmark, OwnBenchmark) else None
        named = f"{benchmark}/{task}" if task else str(benchmark)
        show(["", f"to download the rest: {fetch_command(named, raw, asking, own)}"], stderr=True)
    write_json([file.as_json for file in files], json_)
    if not all(file.is_sound for file in files):
        raise typer.Exit(1)


group = typer.Typer(
    cls=_Builds,
    help="Build a dataset folder: a benchmark, or your own data.\n\n"
    "Example: shiftbench build dr nli --raw raw --out build/dr",
    no_args_is_help=True,
    **PLAIN,
)
_COMMANDS: dict[str, Callable[..., None]] = {
    "dr": dr, "boss": boss, "df1": df1, **{name: _from_spec(name) for name in _OURS},
    "own": own, "synthetic": synthetic, "list": list_,
}  # fmt: skip
for _name, _command in _COMMANDS.items():
    group.command(_name, cls=Command)(_command)
group.command("check", cls=Command, hidden=True)(check)
