"""Screenshots for the site, and one of every page: python -m tests.leaderboard.screenshots --data DIR --store DIR.

They are of a store that is there, such as the one that ``shiftbench demo`` fills; needs Chromium.
"""

import io
from pathlib import Path
from typing import Annotated

import typer
from PIL import Image

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.server import serve
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.store import Store

CHROMIUM = "/usr/bin/chromium"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
KEPT = Path(__file__).parents[2] / "docs/assets"
"""Those of README and site."""


def main(
    data: Annotated[list[Path], typer.Option("--data", help="Dataset folder; may be given several times.")],
    store: Annotated[Path, typer.Option("--store", help="Store with two entries at least.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the others.")] = Path("build/screenshots"),
    report: Annotated[
        Path | None, typer.Option("--report", help="Report of 'shiftbench check', for the site, too.")
    ] = None,
) -> None:
    """Take one screenshot of every page at 1280 and 390 pixels, light and dark."""
    from playwright.sync_api import Page, sync_playwright

    def keep(page: Page, name: str) -> None:
        """Keep what a page shows first, in 128 colours: a picture of a page is downloaded by everybody."""
        page.set_viewport_size({"width": 1280, "height": 720})
        taken = Image.open(io.BytesIO(page.screenshot()))
        taken.convert("RGB").quantize(128).save(KEPT / f"{name}.png", optimize=True)

    folders = [DatasetFolder.open(folder) for folder in data]
    index = Index(folders, Store(store))
    index.settle()
    board = next(board for board in index.boards() if index.frame(board).height)
    ids = index.frame(board)["id"].head(3).to_list()
    paths = {
        "front": "/",
        "overall": f"/?benchmark={board.folder.manifest.benchmark}",
        "board": f"/?board={board.name}",
        "full": f"/?board={board.name}&view=full",
        "scatter": f"/?board={board.name}&x=score",
        "domains": f"/domains?board={board.name}",
        "entry": f"/entry?id={ids[0]}&task={board.task}",
        "compare": f"/compare?task={board.task}" + "".join(f"&id={identity}" for identity in ids),
        "submit": "/submit",
        "data": f"/data?task={board.folder.manifest.benchmark}/{board.task}",
        "about": "/about",
    }
    out.mkdir(parents=True, exist_ok=True)
    server = serve(folders, Store(store), port=0, block=False)
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
                context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
                page = context.new_page()
                page.set_default_timeout(120_000)
                for name, path in paths.items():
                    page.goto(server.url + path)
                    page.wait_for_load_state("networkidle")
                    page.screenshot(path=out / f"{name}-{width}-{scheme}.png", full_page=True)
                    if (name, width, scheme) == ("board", 1280, "light"):
                        keep(page, name)
                        page.set_viewport_size({"width": width, "height": 900})
                if report is not None and (width, scheme) == (1280, "light"):
                    page.goto(report.resolve().as_uri())
                    keep(page, "report")
                context.close()
            chromium.close()
    finally:
        server.close()


if __name__ == "__main__":
    typer.run(main)
