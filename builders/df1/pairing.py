"""What all pairings of the Depth F1 paper share: one task, of sources with train rows and a target with test rows."""

from collections.abc import Callable

from shiftbench.builders.folder.manifest import Pairing
from shiftbench.builders.specs.spec import DomainSpec, TaskSpec
from shiftbench.validation.vocabulary import TaskKind

Part = Callable[[str, str], DomainSpec]
"""Name and split of a domain -> what of it is read."""

ACCURACY_NOTE = "Accuracy is the paper's F1: micro F1 over all classes."


def pairing_task(
    title: str,
    sources: tuple[str, ...],
    target: str,
    pairing: Pairing,
    *,
    part: Part,
    inputs: tuple[str, ...],
    labels: tuple[str, ...],
    notes: tuple[str, ...],
    sample: int | None = None,
) -> TaskSpec:
    """Build the task of a pairing: sources with their train split, then the target with its test split."""
    return TaskSpec(
        benchmark="df1",
        name=pairing.name.lower(),
        title=title,
        kind=TaskKind.CLASSIFICATION,
        inputs=inputs,
        labels=labels,
        metric="accuracy",
        domains=(*(part(name, "train") for name in sources), part(target, "test")),
        sample=sample,
        pairing=pairing,
        notes=(*notes, ACCURACY_NOTE),
    )
