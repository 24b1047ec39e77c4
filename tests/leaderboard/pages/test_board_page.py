"""The board as a reader gets it: rows, order, filters, pages, what papers report, and nothing that runs."""

import csv
import io
import json
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index, find_board
from shiftbench.leaderboard.pages.board_columns import columns_of
from shiftbench.leaderboard.pages.board_data import board_csv
from shiftbench.leaderboard.pages.board_page import board_page, rows_fragment
from shiftbench.leaderboard.pages.board_query import PAGE_ROWS, BoardQuery, matching, whole_table
from shiftbench.leaderboard.pages.shell import script
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.reports.numbers import drop_points
from tests.leaderboard.conftest import SCRIPT, Filled, Visible
from tests.leaderboard.invented import invent
from tests.leaderboard.pages.board_table import fresh_copy, query, rows

LAST_KNOWN = "Not up to date."


@pytest.fixture(scope="module")
def store(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The filled store with 120 invented entries, of two names the same."""
    root = tmp_path_factory.mktemp("board") / "store"
    shutil.copytree(filled.store.root, root)
    templates = [filled.entries[name].id for name in ("good", "poor", "partial")]
    invent(Store(root), templates, 120, names=119)
    return Store(root)


@pytest.fixture(scope="module")
def index(filled: Filled, store: Store) -> Index:
    found = Index([filled.folder], store)
    assert found.settle()
    return found


def names(index: Index, asked: str = "") -> list[str]:
    """Names of the entries on a page, without what stands beside them."""
    frame = index.frame(find_board(query(index, asked).board, index.boards()))
    known = sorted(frame["name"].unique(), key=len, reverse=True)
    cells = [row[2] for row in rows(index, asked).rows if len(row) > 1]
    return [next((name for name in known if cell.startswith(name)), cell) for cell in cells]


def frame_of(index: Index) -> pl.DataFrame:
    return index.frame(index.boards()[0])


# The question


def test_an_address_is_read_and_written_back(index: Index) -> None:
    asked = "board=synthetic/nli&q=bert&paradigm=few-shot&size=1b-10b&sort=worst_td&order=desc&view=full&page=2"
    found = query(index, asked)
    assert (found.q, found.paradigm, found.size, found.page) == ("bert", "few-shot", "1b-10b", 2)
    assert (found.view, found.x) == ("full", "")
    assert query(index, urlsplit(found.address()).query) == found
    # Another order starts on its first page.
    assert query(index, urlsplit(found.address(sort="name", order="asc")).query).page == 1
    assert BoardQuery().address() == "/"
    # A figure that is better when high is first sorted from the top, a drop from the bottom.
    assert [query(index, f"sort={key}").order for key in ("mean_st", "worst_td", "name")] == ["desc", "asc", "asc"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("sort=mean_sst", "cannot be sorted by 'mean_sst'"),
        ("sort=scenarios", "cannot be sorted"),
        ("page=0", "no page '0'"),
        ("page=-1", "no page"),
        ("page=99999999999999999999", "no page"),
        ("page=²", "no page"),
        ("x=__class__", "no axis '__class__'"),
        ("view=__class__", ""),
        ("order=sideways", ""),
        ("nonsense=1&page=7000", ""),
    ],
)
def test_what_is_not_known_is_left_out_and_said(index: Index, asked: str, words: str) -> None:
    found = query(index, asked)
    assert words in " ".join(found.notes)
    assert replace(found, notes=(), page=1) == replace(query(index), notes=())
    shown = Visible(board_page(index, found)).text
    assert words in shown
    assert "Invented" in shown


def test_the_page_opens_on_the_first_board_with_entries(filled: Filled, id_folder: DatasetFolder) -> None:
    index = Index([id_folder, filled.folder], filled.store)
    assert query(index).board == "synthetic/nli"
    assert query(index, "board=boss/sa").board == "boss/sa"
    shown = Visible(board_page(index, query(index)))
    assert {"/?benchmark=boss", "/?benchmark=synthetic", "/?board=synthetic/sa"} <= set(shown.links)


def test_a_board_that_may_be_behind_says_so_and_not_why(filled: Filled) -> None:
    index = Index([filled.folder], filled.store)
    assert LAST_KNOWN not in Visible(board_page(index, query(index))).text
    filled.store.behind = "ORG/private: the Hub could not be read"
    try:
        shown = Visible(board_page(index, query(index))).text
    finally:
        filled.store.behind = None
    assert LAST_KNOWN in shown
    assert "ORG/private" not in shown


def test_without_data_or_entries_the_page_says_what_to_do(
    filled: Filled, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    nothing = Index([], Store(tmp_path))
    empty = Index([filled.folder], Store(tmp_path))
    shown = Visible(board_page(empty, query(empty)))
    assert [Visible(board_page(nothing, query(nothing))).lines, shown.lines] == wording
    assert "table" not in shown.tags
    assert "/submit" in shown.links


# Rows


def test_rows_come_by_rank_a_page_at_a_time_with_partial_ones_last(index: Index, wording: SnapshotAssertion) -> None:
    frame = frame_of(index)
    seen: list[str] = []
    for page in (1, 2, 3):
        found = rows(index, f"page={page}")
        assert sum(len(row) > 1 for row in found.rows) == min(PAGE_ROWS, frame.height - 50 * (page - 1))
        seen += names(index, f"page={page}")
    assert seen == frame["name"].to_list()
    # Beyond the end is the end.
    assert names(index, "page=900") == seen[100:]
    last = rows(index, "page=3").rows
    assert all(row[1] == "\N{EN DASH}" for row in last if len(row) > 1)
    heads = [row for row in rows(index, "page=2").rows if len(row) == 1]
    assert [last[-2][2].partition("shifts; ")[2], *heads[0]] == wording
    assert heads[0] not in rows(index, "page=1").rows


def test_every_row_has_a_cell_for_each_heading(index: Index, id_folder: DatasetFolder, tmp_path: Path) -> None:
    papers = Index([id_folder], Store(tmp_path))
    for found in (
        rows(index),
        rows(index, "view=full"),
        rows(papers, "board=boss/sa"),
        rows(papers, "board=boss/sa&view=full"),
    ):
        assert {len(row) for row in found.rows if len(row) > 1} == {len(found.heads)}


def test_a_rank_stands_beside_its_interval(index: Index) -> None:
    first = frame_of(index).row(0, named=True)
    assert rows(index).rows[0][1] == f"1[{first['rank_low']}\N{EN DASH}{first['rank_high']}]"
    # Until it is computed the rank stands alone.
    index_of_its_own = Index([*index.folders], index.store)
    index_of_its_own.settle()
    state = index_of_its_own._snapshot
    state.frames.clear()
    index_of_its_own._ranks._found.clear()
    assert rows(index_of_its_own).rows[0][1] == "1"


def test_figures_have_digits_bounds_and_a_picture(index: Index) -> None:
    row = frame_of(index).row(0, named=True)
    found = rows(index)
    value, low, high = (f"{100 * row[key]:.1f}" for key in ("mean_st", "mean_st.low", "mean_st.high"))
    half = f"{100 * (row['mean_st.high'] - row['mean_st.low']) / 2:.1f}"
    assert found.rows[0][5] == f"{value}\N{PLUS-MINUS SIGN}{half}"
    home = 100 * row["mean_ss"]
    assert re.findall(r"[+\N{MINUS SIGN}]?\d+\.\d+", found.titles[0]) == [
        f"{home:.1f}", value, drop_points(row["average_drop"])
    ]  # fmt: skip
    assert found.images[4:] == ["sb-gap"] * PAGE_ROWS  # below the four signs of the key
    full = rows(index, "view=full")
    assert full.rows[0][5].startswith(f"{value}[{low}, {high}]")
    assert len(full.heads) > len(found.heads) == 7
    # What none of the rows has is no column.
    assert "depth_f1_0" not in " ".join(rows(index, "view=full").addresses) or row["depth_f1_0"] is not None


def test_entries_of_one_name_show_their_ids(index: Index) -> None:
    twins = frame_of(index).filter(pl.col("same_name").is_not_null())
    assert twins.height == 2
    cells = [row[2] for row in rows(index, f"q={twins['name'][0]}").rows if len(row) > 1]
    for identity in twins["id"]:
        assert any(cell.startswith(twins["name"][0]) and identity[:6] in cell for cell in cells)


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("key", ["mean_ss", "worst_td", "parameters", "name", "date"])
def test_sorting_keeps_missing_values_last(index: Index, key: str, order: str) -> None:
    frame = frame_of(index)
    for complete, page in ((True, 1), (False, 3)):
        found = names(index, f"sort={key}&order={order}&page={page}")
        group = frame.filter(pl.col("complete") == complete)
        column = "submitted_at" if key == "date" else key
        wanted = [value for value in group[column].to_list() if value is not None]
        wanted.sort(key=lambda value: value.lower() if isinstance(value, str) else value, reverse=order == "desc")
        by_name = dict(zip(group["name"], group[column], strict=True))
        values = [by_name[name] for name in found if name in by_name]
        known = [value for value in values if value is not None]
        assert values[: len(known)] == known, "a missing value stands before a known one"
        if page == 1:
            assert known == wanted[: len(known)]
        else:
            assert known == (wanted[-len(known) :] if len(known) == len(values) else known)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_the_drop_of_a_constant_predictor_leads_nothing(filled: Filled, tmp_path: Path, order: str) -> None:
    shutil.copytree(filled.store.root, tmp_path / "store")
    store = Store(tmp_path / "store")
    label = filled.folder.task("nli").labels[0]
    pl.read_parquet(filled.files["good"]).with_columns(prediction=pl.lit(label)).write_parquet(tmp_path / "c.parquet")
    constant, _ = store.submit(tmp_path / "c.parquet", filled.card("good"), [filled.folder])
    index = Index([filled.folder], store)
    assert index.settle()
    board = find_board("synthetic/nli", index.boards())
    table = whole_table(index, board).filter("complete")
    assert table.filter("at_floor")["id"].to_list() == [constant.id]
    # Its drop is the smallest, its score the lowest.
    assert table.sort("average_drop", nulls_last=True)["id"][0] == table.sort("mean_st")["id"][0] == constant.id
    asked = query(index, f"board=synthetic/nli&sort=average_drop&order={order}")
    assert matching(table, asked, columns_of(board))["id"][-1] == constant.id
    by_score = query(index, "board=synthetic/nli&sort=mean_st&order=asc")
    assert matching(table, by_score, columns_of(board))["id"][0] == constant.id
    assert rows_fragment(index, asked).count("sb-badge-warn") == 1
    assert rows_fragment(index, asked).count("sb-badge-lead") == 1


def test_headings_sort_and_say_which_way(index: Index) -> None:
    found = rows(index, "sort=worst_td&order=asc&view=full")
    assert list(found.heads.values()).count("ascending") == 1
    assert set(found.heads.values()) == {"ascending", None}
    assert "order=desc" in found.addresses["sort-worst_td"]
    assert "sort=mean_st&order=desc" in found.addresses["sort-mean_st"]
    # The other way round, the best rank is last; partial entries stay below.
    assert names(index, "sort=rank&order=desc")[0] == frame_of(index).filter("complete")["name"][-1]


@pytest.mark.parametrize(
    ("asked", "keeps"),
    [
        ("q=invented", pl.col("name").str.contains("Invented")),
        ("q=LLAMA", pl.col("family") == "llama"),
        ("q=user3", pl.col("submitter") == "user3"),
        ("q=.*", pl.lit(value=False)),
        ("paradigm=few-shot", pl.col("paradigm") == "few-shot"),
        ("size=lt100m", pl.col("parameters") < 100_000_000),
        ("size=1b-10b", pl.col("parameters") == 7_000_000_000),
        ("size=gt10b", pl.col("parameters") >= 10_000_000_000),
        ("size=huge", pl.lit(value=False)),
        ("year=1999", pl.lit(value=False)),
        ("paradigm=few-shot&size=gt10b", (pl.col("parameters") > 1e10) & (pl.col("paradigm") == "few-shot")),
    ],
)  # fmt: skip
def test_filters_keep_what_they_say(index: Index, asked: str, keeps: pl.Expr) -> None:
    wanted = frame_of(index).filter(keeps)["name"].to_list()
    found = [name for page in (1, 2, 3) for name in (names(index, f"{asked}&page={page}") if wanted else [])]
    assert list(dict.fromkeys(found)) == list(dict.fromkeys(wanted))
    text = Visible(rows_fragment(index, query(index, asked))).text
    assert (f" of {len(wanted):,} " in text) if wanted else ("No entry" in text)
    # The page shows what was asked, and each chip that is set takes itself back.
    page = board_page(index, query(index, asked))
    name, value = parse_qsl(asked)[0]
    if name == "q":
        assert f'value="{value}"' in page
    else:
        chosen = re.findall(r'<a class="sb-chip" href="([^"]*)" aria-current="true"[^>]*data-rows', page)
        assert any(f"{name}=" not in address for address in chosen)


def test_chips_are_of_values_that_tell_rows_apart(index: Index) -> None:
    page = str(rows_fragment(index, query(index)))
    found = dict(re.findall(r'role="group" aria-label="(\w+)"(.*?)</div>', page))
    assert set(found) == {"Kind", "Size", "Submitted", "Columns"} & set(found) | {"Kind", "Size", "Columns"}
    assert ">few-shot</a>" in found["Kind"]
    assert "Licence" not in found, "no card here names one"


def test_the_pager_leads_to_every_page(index: Index) -> None:
    found = rows(index, "page=2&sort=name")
    assert found.addresses["page-previous"] == "/?board=synthetic/nli&sort=name&order=asc"
    assert found.addresses["page-next"].endswith("page=3")
    assert "page-2" not in found.addresses
    assert not rows(index, "q=Poor").addresses.keys() & {"page-next", "page-previous"}


# Nothing runs


def test_texts_of_cards_stay_texts(filled: Filled, tmp_path: Path) -> None:
    root = fresh_copy(filled, tmp_path)
    path = root / "entries" / filled.entries["script"].id / "card.json"
    content = json.loads(path.read_text())
    evil = f'"><img src=x onerror=alert(1)>{SCRIPT}'
    for key in ("name", "base_model", "family", "extra_data"):
        content["card"][key] = evil
    content["submitter"] = evil
    path.write_text(json.dumps(content))
    (root / "entries" / filled.entries["poor"].id / "card.json").write_text("{")
    index = Index([filled.folder], Store(root))
    page = board_page(index, query(index, "view=full&licence=%3Cscript%3E&q=%3Cscript&sort=%22%3E%3Cimg"))
    assert "<script>" not in page
    page = board_page(index, query(index, "view=full&q=%3Cscript&sort=%22%3E%3Cimg"))
    shown = Visible(page)
    assert not {"script", "img"} & set(shown.tags)
    assert shown.text.count(evil) >= 3
    assert all(link.startswith(("/", "#board-table")) for link in shown.links)
    cells = next(csv.DictReader(io.StringIO(board_csv(index, query(index, "q=onerror")))))
    assert cells["name"] == evil


def test_a_page_of_thousands_is_quick(index: Index) -> None:
    """Bounds are generous: this machine may be busy."""
    frame = frame_of(index)
    many = pl.concat([frame] * 20)
    board = index.boards()[0]
    index._snapshot.frames[board.name] = many
    try:
        asked = query(index, "q=invented&size=1b-10b&sort=worst_td")
        rows_fragment(index, asked)
        started = time.perf_counter()
        for _ in range(5):
            text = rows_fragment(index, asked)
        assert (time.perf_counter() - started) / 5 < 0.5
        assert f"{many.height:,} " in text
    finally:
        index._snapshot.frames[board.name] = frame


def test_the_script_has_no_way_around_the_policy() -> None:
    assert "eval(" not in script()
    assert "http" not in script()
