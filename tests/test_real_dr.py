"""The real upstream rows that lie beside the project: sizes and rows of every task they serve, as first built.

Only a part of upstream is there, so the builds need ``--partial``. Rows are pinned by id; none of them is kept here.
"""

from pathlib import Path

import pytest

from shiftbench.builders.building.build import Built, build
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import PLACEBO, SPLITS

pytestmark = pytest.mark.real

Pin = tuple[tuple[int, int, int], tuple[str, str, str], tuple[str, str, str]]
PINS: dict[str, dict[str, Pin]] = {
    "nli": {
        "fiction": (
            (2285, 113, 1973),
            ("00536086ccbd", "0186577d8167", "fff2c9e0a8e7"),
            ("006195484981", "02102b907b87", "fff9444d3145"),
        ),
        "government": (
            (2273, 116, 1945),
            ("00076f341cac", "012b55ed7a5d", "ffef84a33154"),
            ("0000ecebb88d", "01a15926cebc", "fff487fef2ef"),
        ),
        "slate": (
            (2433, 120, 1955),
            ("001f52bfef62", "019089483f73", "ffe6c742552f"),
            ("00121fd87d06", "00e9cd7e1f7b", "fff36909ff5f"),
        ),
        "telephone": (
            (2566, 130, 1966),
            ("002f6a9223dd", "01f76fac3f55", "ff77cf5dc6cb"),
            ("0028145e0311", "00b008de0ebc", "ffd32e653bec"),
        ),
        "travel": (
            (2325, 117, 1976),
            ("001347e6d93b", "0172afcd908e", "ffc9d321d00b"),
            ("0004df845bcd", "015a903d7745", "fff7245a9644"),
        ),
    },
    "ab": {
        "mams": (
            (1994, 500, 499),
            ("00d2b2c27ceb", "032b65b93c2c", "fffec730c6ac"),
            ("002e77e1c098", "01945761e166", "ffe1f0f8d76a"),
        ),
    },
    "qa": {
        "geography": (
            (1691, 406, 416),
            ("00ccad441151", "079c1b21049d", "ff7fb70de7b6"),
            ("000552ed1b2d", "013899ba135b", "ffd6f05914ad"),
        ),
        "history": (
            (1148, 504, 218),
            ("02f281b111d4", "0cae531ebfb7", "ff0ccb8bf92d"),
            ("00153d69b5f5", "00e7a6f5c722", "fff157f458c8"),
        ),
        "philosophy": (
            (1037, 0, 393),
            ("0011e1edbee2", "063f2ed8c6b6", "feec14f0d738"),
            ("00214a1cfbde", "020c8f68abc1", "ffb15113bb52"),
        ),
        "science": (
            (480, 341, 334),
            ("003e29f47981", "08da1279c766", "ff26f5d8dc1d"),
            ("0013cdb59176", "06679be9e7b5", "ffe2f2e482ae"),
        ),
        "society": (
            (1093, 306, 231),
            ("0091f8f2a942", "086933e74dbd", "fe68a604587d"),
            ("001029c67244", "01ff7f4d2028", "ffcd72ce80f5"),
        ),
        "technology": (
            (1137, 0, 229),
            ("062c8c7f6a89", "0b751eba7e06", "ffda1503dd4a"),
            ("000f3fe3c9f7", "0267b0e99f3b", "ff66a7fe7270"),
        ),
    },
    "qa_imbalanced": {
        "geography": (
            (1805, 469, 456),
            ("00ccad441151", "06dd1b891a3a", "ff7fb70de7b6"),
            ("000552ed1b2d", "013899ba135b", "ffd6f05914ad"),
        ),
        "history": (
            (1365, 515, 323),
            ("00144924de5a", "0618ccb3cd4c", "ff0ccb8bf92d"),
            ("00153d69b5f5", "00e7a6f5c722", "fff157f458c8"),
        ),
        "philosophy": (
            (1349, 0, 501),
            ("0011e1edbee2", "03b3757856f5", "feec14f0d738"),
            ("00214a1cfbde", "01f9173de147", "ffb15113bb52"),
        ),
        "science": (
            (627, 494, 442),
            ("003e29f47981", "08acb0e14a72", "ff26f5d8dc1d"),
            ("0013cdb59176", "048f5679bacd", "ffe2f2e482ae"),
        ),
        "society": (
            (1409, 347, 335),
            ("0091f8f2a942", "086933e74dbd", "ff0c74bd02c8"),
            ("001029c67244", "01d32afb2bee", "ffcd72ce80f5"),
        ),
        "technology": (
            (1158, 0, 452),
            ("00630d466c0c", "05796ab7297b", "ffda1503dd4a"),
            ("000f3fe3c9f7", "0267b0e99f3b", "ff66a7fe7270"),
        ),
    },
    "qg": {
        "geography": (
            (1657, 145, 209),
            ("002059e8925e", "0cbf7e15c568", "fed7c725b3f2"),
            ("0011af6e0a23", "0157c843e775", "ffe1a1015026"),
        ),
        "history": (
            (1315, 112, 68),
            ("009426cf3377", "1ecc1cd2df80", "fe2751146c25"),
            ("0014be49fb73", "01a1e2f3d786", "ffda2576ff72"),
        ),
        "philosophy": (
            (1142, 197, 117),
            ("049996937132", "0f66f3e29556", "fe1b24fb58a2"),
            ("000784eba039", "0168061cb9ba", "ff4c0daac7ff"),
        ),
        "science": (
            (783, 65, 76),
            ("037824a12e96", "1f2e206a6242", "fe22b05053ea"),
            ("005b3c3acf99", "03505143b6f2", "ffafe315a5ae"),
        ),
        "society": (
            (1059, 108, 137),
            ("059af3038d4d", "10eeb1338897", "fcde97b1b09f"),
            ("0041868ba333", "01e51027c42a", "ffee1c9b7ecb"),
        ),
        "technology": (
            (931, 104, 79),
            ("05c734bf1ff7", "1b7c66d8a4d7", "f398dad4441f"),
            ("0080f439293d", "0394a199ce9c", "ffcf934347f1"),
        ),
    },
}
"""Rows of train, validation and test; first, tenth and last id of test, and of train."""


@pytest.fixture(scope="module")
def built(real_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[DatasetFolder, Built]:
    out = tmp_path_factory.mktemp("real") / "dr"
    built = build("dr", None, real_raw, out, partial=True)
    return DatasetFolder.open(out), built


@pytest.fixture(scope="module")
def folder(built: tuple[DatasetFolder, Built]) -> DatasetFolder:
    return built[0]


def test_every_task_that_the_rows_serve_is_there(built: tuple[DatasetFolder, Built]) -> None:
    folder, (manifest, failed, without_files) = built
    folder.check()
    assert manifest.partial
    assert failed == {}
    assert without_files == ("sa", "as", "tg")
    assert [name for name in manifest.tasks if not name.endswith(PLACEBO)] == list(PINS)
    assert manifest.tasks["ab"].absent_domains == ("device", "laptops", "restaurants", "service")
    # One domain cannot be dealt to several.
    assert {name for name in manifest.tasks if name.endswith(PLACEBO)} == {"nli.placebo", "qa.placebo", "qg.placebo"}


@pytest.mark.parametrize(("task", "domain"), [(task, domain) for task in PINS for domain in PINS[task]])
def test_rows(folder: DatasetFolder, task: str, domain: str) -> None:
    sizes, *pinned = PINS[task][domain]
    facts = folder.task(task).domains[domain]
    assert tuple(facts.splits[split].rows if split in facts.splits else 0 for split in SPLITS) == sizes
    for split, pins in zip(("test", "train"), pinned, strict=True):
        ids = [id_.removeprefix(f"dr/{task}/{domain}/{split}/") for id_ in folder.split(task, domain, split)["id"]]
        assert (ids[0], ids[9], ids[-1]) == pins


def test_subsets(folder: DatasetFolder) -> None:
    found = {task: folder.task(task).subsets for task in PINS}
    assert found == {
        "nli": {"all": 9815, "fewshot": 600},
        "ab": {"all": 499},
        "qa": {"all": 1821, "fewshot": 600},
        "qa_imbalanced": {"all": 2509},
        "qg": {"all": 686, "fewshot": 344},
    }


def left(folder: DatasetFolder, task: str, step: str) -> dict[str, int]:
    """Rows that left by a step, by domain."""
    counts = [count for count in folder.task(task).transforms if count.name == step]
    return {
        domain: sum(count.before - count.after for count in counts if count.domain == domain)
        for domain in folder.task(task).domains
    }


def test_premises_found_in_test_leave_train(folder: DatasetFolder) -> None:
    expected = {"fiction": 0, "government": 0, "slate": 5, "telephone": 0, "travel": 9}
    assert left(folder, "nli", "test_groups_leave_train") == expected
    assert all(not any(left(folder, "nli", step).values()) for step in ("keep_labelled", "repeated_rows_leave"))


def test_sentences_whose_terms_cannot_be_tagged_leave(folder: DatasetFolder) -> None:
    assert left(folder, "ab", "refused_sentences_leave") == {"mams": 7}


def test_questions_that_several_copies_of_squad_hold_stay_once(folder: DatasetFolder) -> None:
    repeats = left(folder, "qa", "repeated_rows_leave")
    assert repeats == {"geography": 251, "history": 390, "philosophy": 0, "science": 0, "society": 0, "technology": 0}


def test_groups_are_in_one_split_each(folder: DatasetFolder) -> None:
    for task in PINS:
        for domain, facts in folder.task(task).domains.items():
            groups = [set(folder.split(task, domain, split)["group"]) for split in facts.splits]
            assert sum(map(len, groups)) == len(set.union(*groups)), (task, domain)


def test_one_question_in_five_has_no_answer(folder: DatasetFolder) -> None:
    for domain, facts in folder.task("qa").domains.items():
        for split in facts.splits:
            answers = folder.split("qa", domain, split)["answers"].struct.field("text").list.len()
            assert abs((answers == 0).sum() - 0.2 * len(answers)) < 1


def test_an_incomplete_upstream_is_refused_with_both_figures(real_raw: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        build("dr", "ab", real_raw, tmp_path / "out")
    assert "upstream files of dr/ab are missing; found no absa/data/device_train.txt, " in str(refused.value)
    with pytest.raises(InvalidInput) as refused:
        build("dr", "qa", real_raw, tmp_path / "out")
    assert [line.partition(": ")[2] for line in str(refused.value).splitlines()] == [
        f"the row count differs from the recorded one; found {found} rows, recorded {recorded}; fetch the whole file, "
        "or give --partial to build from the available files"
        for found, recorded in (("4,719", "130,319"), ("1,905", "11,873"))
    ]
    assert not (tmp_path / "out").exists()
