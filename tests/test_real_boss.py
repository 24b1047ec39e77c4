"""The real upstream rows of BOSS that lie beside the project: counts and rows of every data set, as first built.

Only a part of upstream is there, so the builds need ``--partial``. Rows are pinned by id; none of them is kept here.
"""

from pathlib import Path

import pytest

from shiftbench.builders.building.build import Built, build
from shiftbench.builders.folder.reader import DatasetFolder

pytestmark = pytest.mark.real
RAW = Path(__file__).parents[2] / "shared" / "data" / "raw"

Pin = tuple[int, tuple[str, str, str], str]
"""Rows, the first, tenth and last id, and the hash of the labels, tags or answers."""
PINS: dict[str, dict[str, Pin]] = {
    "sa.dynasent": {
        "test": (540, ("000ca3b55285", "05de6e85e5f4", "ffcb3cd97252"), "ff30932fae1c"),
    },
    "nli.mnli": {
        "train": (12993, ("0001ddd101eb", "0048e369ce30", "fff9444d3145"), "e956c7e25b4f"),
        "test": (9815, ("000d90d44c85", "003bb03901b0", "fff2c9e0a8e7"), "f1a3042f5793"),
    },
    "nli.anli": {
        "test": (540, ("00187ae84cd4", "01fb27ddfb10", "ffff102816d6"), "c1d675c2df2a"),
    },
    "nli.contract_nli": {
        "test": (425, ("001b8f0013d8", "08c55c013030", "ffb2a3f22f80"), "325bbd8b491e"),
    },
    "nli.wanli": {
        "train": (100, ("0063872c2b20", "1225cd3c4876", "f50cfc40670c"), "e0f6cb79ccef"),
    },
    "ner.few_nerd": {
        "train": (2500, ("001e3e061f51", "00d001ccb318", "fff164d8a190"), "1b91b174bf58"),
        "test": (2000, ("002901ba73da", "0183f4c5b249", "fff800b303d0"), "3af8094ff697"),
    },
    "ner.e_ner": {
        "test": (1815, ("000b9d0987ac", "02c39584cdfd", "ffc8290a6382"), "d2a31f6024ba"),
    },
    "ner.wnut": {
        "train": (3394, ("000f0a3b3e0a", "009069197fb1", "ffe8d472e78a"), "fcf6ca8e5bca"),
        "test": (1287, ("00935faa226a", "02a3aa483fce", "ff8de1000e80"), "df42affcb83a"),
    },
    "eqa.squad": {
        "train": (2775, ("0013cdb59176", "00d3e7a11fc4", "ffcd72ce80f5"), "0c5e5d19bcb1"),
        "test": (1680, ("000552ed1b2d", "01016a0e20bc", "fffcf61b43a7"), "87120d9696da"),
    },
    "td_candidates.hate_speech": {
        "train": (160, ("00f897b4a8cd", "0fc897778fbc", "fee56d37aca5"), "ec10aef8a9f2"),
        "test": (40, ("0d1934c61227", "2e071350b21a", "fc7ef374cd95"), "ed195e051e73"),
    },
    "td_candidates.hsol": {
        "train": (630, ("014b8598e4a4", "02471c4e0b74", "fff8717b4a6d"), "e2eef781a9e4"),
        "test": (270, ("027345180505", "0806a16d5e5c", "ffe4ab7ff663"), "c45a2e364216"),
    },
    "nli_candidates.snli": {
        "test": (450, ("01c81cb93ebf", "067a7601b0bb", "ffd672312c78"), "736b4ee144a3"),
    },
    "ner_candidates.crossner": {
        "train": (700, ("002ca4144565", "0451a52e1df4", "ff5c4457e527"), "cf547dd8fe64"),
        "test": (2506, ("000614c9e6b3", "0109846f3c2d", "ffd70001fd89"), "b48eafb93b95"),
    },
    "eqa_candidates.squad_shifts": {
        "test": (2132, ("000326c45dbd", "011a6158e752", "ffeed2278e63"), "4f1ab88f32bb"),
    },
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Built, DatasetFolder]:
    if not RAW.is_dir():
        pytest.skip("no upstream rows at ../shared/data/raw")
    out = tmp_path_factory.mktemp("boss-real") / "out"
    return build("boss", None, RAW, out, partial=True, placebo=False), DatasetFolder.open(out)


@pytest.mark.parametrize("config", PINS)
def test_rows_are_the_pinned_ones(built: tuple[Built, DatasetFolder], config: str) -> None:
    task, _, domain = config.partition(".")
    found = {}
    for split, facts in built[1].task(task).domains[domain].splits.items():
        ids = [identity.rsplit("/", 1)[1] for identity in built[1].split(task, domain, split)["id"]]
        found[split] = (len(ids), (ids[0], ids[9], ids[-1]), facts.labels_sha256[:12])
    assert found == PINS[config]


def test_nothing_else_was_built(built: tuple[Built, DatasetFolder]) -> None:
    made = {f"{task}.{domain}" for task, info in built[1].manifest.tasks.items() for domain in info.domains}
    assert made == set(PINS)
    assert built[0].failed == {}
    assert built[0].without_files == ("td", "sa_candidates")


def test_what_is_whole_has_the_papers_sizes(built: tuple[Built, DatasetFolder]) -> None:
    def rows(task: str, domain: str) -> dict[str, int]:
        return {split: facts.rows for split, facts in built[1].task(task).domains[domain].splits.items()}

    assert rows("nli", "mnli")["test"] == 9_815
    # One less a file than the paper counts: an empty sentence at the end.
    assert rows("ner", "wnut") == {"train": 3_394, "test": 1_287}
    assert rows("ner_candidates", "crossner") == {"train": 700, "test": 2_506}


def test_rows_left_by_name(built: tuple[Built, DatasetFolder]) -> None:
    left = {
        (task, count.domain, count.name): count.before - count.after
        for task, info in built[1].manifest.tasks.items()
        for count in info.transforms
        if count.before != count.after
    }
    assert left == {
        ("td_candidates", "hate_speech", "label_from_label"): 40,  # relation, idk/skip
        ("nli_candidates", "snli", "keep_labelled"): 40,  # '-'
        ("nli", "mnli", "copies_leave"): 5,  # in two of its partial files
    }
