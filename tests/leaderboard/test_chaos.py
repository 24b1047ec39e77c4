"""The short form of the suite of kills: an act of almost each kind, with fewer tickets, in two runs."""

import shutil
from pathlib import Path

import pytest

from tests.leaderboard.chaos.suite import KINDS, Suite, table

SHORT = [kind for kind in KINDS if kind != "two servers"]

pytestmark = pytest.mark.xdist_group("chaos")


def opened(state: Path) -> Suite:
    return Suite(state, 7, n_tickets=1_150, longest_upload=1.0)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    state = tmp_path_factory.mktemp("chaos") / "state.jsonl"
    opened(state).run(4, SHORT)
    suite = opened(state)
    suite.run(len(SHORT), SHORT)
    return suite


def test_nothing_acknowledged_is_lost_doubled_or_half_after_kills(suite: Suite) -> None:
    acts = [*suite.acts, suite.whole_store()]
    print(table(acts))
    assert [act.kind for act in suite.acts] == SHORT
    assert sum(act.kills for act in suite.acts) > len(SHORT)
    assert [(act.lost, act.doubled, act.half, act.changed, act.odd) for act in acts if act.is_wrong] == []


def test_what_is_lost_doubled_half_or_changed_is_found(suite: Suite, tmp_path: Path) -> None:
    state = Path(shutil.copy(suite.state, tmp_path))
    store = shutil.copytree(suite.work.store, opened(state).work.store)
    lost, hurt = sorted(suite.ledger.accepted)[:2]
    shutil.rmtree(store / "entries" / lost)
    card = store / "entries" / hurt / "card.json"
    card.write_bytes(card.read_bytes()[:50])
    released = next((store / "records").glob("round-*"))
    released.write_bytes(released.read_bytes() + b"\n")
    look = next((store / "records").glob("look-*-000001.json"))
    look.with_name(look.name.replace("000001", "000009")).write_bytes(look.read_bytes())
    found = opened(state).whole_store()
    assert lost in found.lost
    assert any(hurt in each for each in found.half)
    assert any("000009" in each or ": [1, " in each for each in found.half)
    assert found.changed == [released.name]
    assert found.doubled
