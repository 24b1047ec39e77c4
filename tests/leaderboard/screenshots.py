"""Every page in a browser: python -m tests.leaderboard.screenshots --data DIR --store DIR [--readme]; needs Chromium.

It takes screenshots at three widths, light and dark, has axe-core look at each of them, and prints what it finds, the
requests and bytes of each page, the words and screens of an entry's page, and the clicks and seconds of the tasks that
``journeys`` lists. The store is one with two ranked entries at least, such as the one that ``demo results`` fills.
"""

import io
from pathlib import Path
from typing import Annotated, Any

import typer
from PIL import Image

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.server import serve
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.board_page import fullest_board
from shiftbench.leaderboard.store import Store
from tests.leaderboard.app.chromium import CHROMIUM, FLAGS
from tests.leaderboard.journeys import walk

WIDTHS, SCHEMES = (390, 768, 1440), ("light", "dark")
KEPT = Path(__file__).parents[2] / "docs/assets"
"""Pictures of the README and the site."""


def main(
    data: Annotated[list[Path], typer.Option("--data", help="Dataset folder; may be given several times.")],
    store: Annotated[Path, typer.Option("--store", help="Store with two ranked entries at least.")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the screenshots; without it none.")] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Report of 'shiftbench check', for the site, too.")
    ] = None,
    *,
    readme: Annotated[bool, typer.Option("--readme", help="Write the pictures of README and site.")] = False,
) -> None:
    """Look at every page."""
    from playwright.sync_api import sync_playwright

    folders = [DatasetFolder.open(folder) for folder in data]
    paths = _paths(folders, store)
    server = serve(folders, Store(store), port=0, block=False)
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
            if out is not None:
                _look(chromium, server.url, paths, out)
            _weigh(chromium, server.url, paths)
            for *_, line in walk(chromium, server.url):
                print(line, flush=True)
            if readme:
                _keep(chromium, f"{server.url}{paths['board']}", "board")
                if report is not None:
                    _keep(chromium, report.resolve().as_uri(), "report")
            chromium.close()
    finally:
        server.close()


def _paths(folders: list[DatasetFolder], store: Path) -> dict[str, str]:
    index = Index(folders, Store(store))
    index.settle()
    board = fullest_board(index, index.boards())
    ids = index.frame(board).filter("complete")["id"].head(2).to_list()
    benchmark, entry = board.folder.manifest.benchmark, f"/entry?id={ids[0]}&task={board.task}"
    return {
        "front": "/",
        "overall": f"/?benchmark={benchmark}",
        "board": f"/?board={board.name}",
        "full": f"/?board={board.name}&view=full",
        "papers": f"/?board={board.name}&reported=shown",
        "no-match": f"/?board={board.name}&q=zzzz",
        "scatter": f"/?board={board.name}&x=score",
        "record": f"/?board={board.name}&x=date",
        "domains": f"/domains?board={board.name}",
        "entry": entry,
        **{tab: f"{entry}&tab={tab}" for tab in ("errors", "confidence", "statistics", "card")},
        "compare": f"/compare?task={board.task}" + "".join(f"&id={identity}" for identity in ids),
        "submit": "/submit",
        "gradio": "/gradio",
        "data": f"/data?task={benchmark}/{board.task}",
        "forecast": f"/forecast?board={board.name}",
        "about": "/about",
        "not-found": "/nothing",
    }


def _open(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_load_state("networkidle")
    while page.query_selector("#comparing"):
        page.wait_for_timeout(200)
    if address.endswith("/gradio"):
        page.get_by_role("button", name="Check", exact=True).wait_for()


def _look(chromium: Any, url: str, paths: dict[str, str], out: Path) -> None:
    """Take the screenshots, and print what is wider than the page or found by axe-core; Gradio's parts are its own."""
    from axe_playwright_python.sync_playwright import Axe

    out.mkdir(parents=True, exist_ok=True)
    n_runs = n_found = 0
    for width in WIDTHS:
        for scheme in SCHEMES:
            context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            page.set_default_timeout(120_000)
            for name, path in paths.items():
                _open(page, url + path)
                page.screenshot(path=out / f"{name}-{width}-{scheme}.png", full_page=True)
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    print(f"{name} at {width} px is wider than the page")
                if name == "gradio":
                    continue
                found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
                n_runs, n_found = n_runs + 1, n_found + len(found)
                for rule in found:
                    print(f"{name} at {width} px, {scheme}: {rule['id']} {rule['nodes'][0]['html'][:120]}")
            context.close()
    print(f"axe-core: {n_runs} pages, {n_found} findings", flush=True)


def _weigh(chromium: Any, url: str, paths: dict[str, str]) -> None:
    """Print requests and bytes of each page for a browser that has nothing of the site, and an entry's words."""
    for name, path in paths.items():
        context = chromium.new_context(viewport={"width": 1440, "height": 900})
        page, answers = context.new_page(), []
        page.on("requestfinished", lambda request, answers=answers: answers.append(request))
        _open(page, url + path)
        sizes = [each.sizes()["responseBodySize"] for each in answers if each.url.startswith(url)]
        line = f"{name}: {len(sizes)} requests, {sum(sizes) / 1000:.1f} kB"
        if name == "entry":
            words, height = page.evaluate("[document.body.innerText.split(/\\s+/).length, document.body.scrollHeight]")
            line += f"; {words} words, {height / 900:.1f} screens of 1440 x 900"
        print(line, flush=True)
        context.close()


def _keep(chromium: Any, address: str, name: str) -> None:
    """Keep what a page shows first, in 128 colours: a picture of a README is downloaded by everybody."""
    KEPT.mkdir(exist_ok=True)
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    _open(page, address)
    taken = Image.open(io.BytesIO(page.screenshot()))
    taken.convert("RGB").quantize(128).save(KEPT / f"{name}.png", optimize=True)


if __name__ == "__main__":
    typer.run(main)
