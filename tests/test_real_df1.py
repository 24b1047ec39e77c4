"""The Depth F1 paper's pairings from the real rows that lie beside the project: sizes and rows as first built.

Of the upstream files only the genres of MultiNLI are there, in part, so the build needs ``--partial``. Rows are pinned
by id; none of them is kept here.
"""

from pathlib import Path

import pytest

from shiftbench.builders.building.build import Built, build
from shiftbench.builders.folder.reader import DatasetFolder

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real-df1")]

Pin = tuple[int, tuple[str, str, str]]
"""Rows, and the first, tenth and last id."""
PINS: dict[str, Pin] = {
    "sis-3.travel train": (2000, ("0004df845bcd", "018c3721f040", "fff7245a9644")),
    "sis-3.government test": (1000, ("00076f341cac", "01cfb2e40db4", "ff8f69bcd1b8")),
    "sis-4.slate train": (2000, ("0048e369ce30", "012902cf0f34", "fff36909ff5f")),
    "sis-4.telephone test": (1000, ("002f6a9223dd", "04184a695725", "ff77cf5dc6cb")),
    "mus-3.government train": (1219, ("0000ecebb88d", "027edcaa73af", "fff487fef2ef")),
    "mus-3.slate train": (1256, ("004d02d1f294", "02a1d7f14792", "ffb69297441a")),
    "mus-3.telephone train": (1325, ("005afd8a4cef", "02681ff86705", "ff77b132119d")),
    "mus-3.travel train": (1200, ("000adeb76142", "01eb59ff5f54", "ff57b5176ce6")),
    "mus-3.fiction test": (1000, ("00c3ff847290", "0333bf375d18", "fff2c9e0a8e7")),
    "mus-4.fiction train": (1251, ("01b0efee02fc", "033a53ef35e9", "ff91985ab187")),
    "mus-4.government train": (1176, ("0000ecebb88d", "027edcaa73af", "fff487fef2ef")),
    "mus-4.slate train": (1244, ("00121fd87d06", "01799e05b60c", "ffed01aec908")),
    "mus-4.telephone train": (1329, ("0028145e0311", "01b131c34844", "ffd32e653bec")),
    "mus-4.travel test": (1000, ("001347e6d93b", "0288b7fb4708", "ffc9d321d00b")),
}


@pytest.fixture(scope="module")
def built(real_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Built, DatasetFolder]:
    out = tmp_path_factory.mktemp("df1-real") / "out"
    return build("df1", None, real_raw, out, partial=True), DatasetFolder.open(out)


def test_rows_are_the_pinned_ones(built: tuple[Built, DatasetFolder]) -> None:
    found = {}
    for task, info in built[1].manifest.tasks.items():
        for domain, facts in info.domains.items():
            for split in facts.splits:
                ids = [identity.rsplit("/", 1)[1] for identity in built[1].split(task, domain, split)["id"]]
                found[f"{task}.{domain} {split}"] = (len(ids), (ids[0], ids[9], ids[-1]))
    assert found == PINS


def test_pairings_have_the_papers_sizes(built: tuple[Built, DatasetFolder]) -> None:
    for task, wanted in {"sis-3": 2_000, "sis-4": 2_000, "mus-3": 5_000, "mus-4": 5_000}.items():
        pins = {name: n_rows for name, (n_rows, _) in PINS.items() if name.startswith(task)}
        assert sum(n_rows for name, n_rows in pins.items() if name.endswith("train")) == wanted
        assert sum(n_rows for name, n_rows in pins.items() if name.endswith("test")) == 1_000


def test_reviews_are_not_at_hand(built: tuple[Built, DatasetFolder]) -> None:
    assert built[0].without_files == ("sis-1", "sis-2", "mus-1", "mus-2")
    assert built[0].failed == {}
