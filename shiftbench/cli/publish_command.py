"""The command ``publish``. Everything heavier than typer is imported inside it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.validation.command_line import JsonOption, write_json

if TYPE_CHECKING:
    from shiftbench.builders.folder.manifest import Manifest


def publish(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Dataset folder, or a folder with 'public' and 'gold' of one build."),
    ],
    repo_id: Annotated[str, typer.Option("--repo-id", metavar="ORG/NAME", help="Dataset repository on the Hub.")],
    revision: Annotated[str, typer.Option("--revision", metavar="BRANCH", help="Branch to publish to.")] = "main",
    tag: Annotated[
        str | None,
        typer.Option(
            "--tag", metavar="NAME", help="goes in 0.4: versions are tagged by their format and content", hidden=True
        ),
    ] = None,
    private_gold: Annotated[
        str | None,
        typer.Option("--private-gold", metavar="ORG/NAME", help="Private repository for the withheld labels."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be sent, send nothing.")] = False,
    json_: JsonOption = None,
) -> None:
    """Publish a dataset folder to the Hugging Face Hub.

    It is sent in one commit; nothing is sent when nothing changed. Domains whose licence does not allow publishing
    their rows are left out and named. Tasks with labels get an eval.yaml, by which the Hub knows a benchmark. Run
    again after a stop or an error, the command continues; visitors of the Hub never see half a version.

    Example: shiftbench data publish build/dr --repo-id ORG/domain-robustness --dry-run
    """
    from shiftbench.builders.publishing.publish import publish_folders

    content = publish_folders(
        folder,
        repo_id,
        revision,
        tag=tag,
        private_gold=private_gold,
        dry_run=dry_run,
        describe=benchmark_file,
    )
    write_json(content, json_)


def benchmark_file(manifest: "Manifest") -> dict[str, str]:
    """Return the file that makes a dataset a benchmark of the Hub, by its name; none where it could hold no task."""
    from shiftbench.baselines.prompting.instructions import numbered_wording
    from shiftbench.scoring.interchange.eval_yaml import EVAL_YAML, eval_yaml

    text = eval_yaml(manifest, lambda task: numbered_wording(manifest.benchmark, task, manifest.tasks[task]))
    return {} if text is None else {EVAL_YAML: text}
