"""The pairings of the Depth F1 paper in natural language inference: genres of MultiNLI."""

from dataclasses import replace

from shiftbench.builders.df1.pairing import pairing_task
from shiftbench.builders.dr.inference import LABELS, genre
from shiftbench.builders.folder.manifest import Pairing
from shiftbench.builders.specs.spec import DomainSpec, TaskSpec


def _part(name: str, split: str) -> DomainSpec:
    whole = genre(name)
    return replace(whole, files={split: whole.files[split]})


def _pairing(title: str, sources: tuple[str, ...], target: str, pairing: Pairing) -> TaskSpec:
    return pairing_task(
        title,
        sources,
        target,
        pairing,
        part=_part,
        inputs=("premise", "hypothesis"),
        labels=LABELS,
        notes=(
            "The paper's draw is not public; here a keyed hash of each pair and the build's seed decide.",
            "The paper draws from a sample of MultiNLI with about 2,600 train pairs a genre (Ben-David et al. 2022), "
            "which the files at RAW/mnli_genres are; a whole build draws from all train pairs of the genre.",
            "Target pairs are drawn from MultiNLI's matched development section; their premises are not in the source.",
        ),
    )


SIS_3 = _pairing(
    "Inference: travel to government",
    ("travel",),
    "government",
    Pairing(name="SiS-3", source_rows=2_000, target_rows=1_000, reported_q=0.34),
)
SIS_4 = _pairing(
    "Inference: slate to telephone",
    ("slate",),
    "telephone",
    Pairing(name="SiS-4", source_rows=2_000, target_rows=1_000, reported_q=0.42),
)
MUS_3 = _pairing(
    "Inference: four genres to fiction",
    ("government", "slate", "telephone", "travel"),
    "fiction",
    Pairing(name="MuS-3", source_rows=5_000, target_rows=1_000, reported_q=0.48),
)
MUS_4 = _pairing(
    "Inference: four genres to travel",
    ("fiction", "government", "slate", "telephone"),
    "travel",
    Pairing(name="MuS-4", source_rows=5_000, target_rows=1_000, reported_q=0.38),
)
