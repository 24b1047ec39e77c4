import os
import re
import time
from pathlib import Path

from fastapi.testclient import TestClient

from shiftbench.leaderboard.app.server import create_app
from shiftbench.leaderboard.board import Index
from tests.leaderboard.id_folder import fill_id_store

OUT = Path(os.environ.get("DUMP", "/tmp/lb33/dump"))


def dump(name, client, urls):
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    for url in urls:
        for _ in range(100):
            answer = client.get(url, headers={"accept": "text/html"}, follow_redirects=False)
            if "refresh" not in answer.headers:
                break
            time.sleep(0.2)
        text = answer.content
        heads = {
            k: v
            for k, v in answer.headers.items()
            if k not in ("content-length", "date", "set-cookie", "etag", "last-modified")
        }
        text = re.sub(rb"/tmp/[\w./-]+", b"TMP", text)
        text = re.sub(rb"/static/page\.(css|js)\?\w+", b"STATIC", text)
        (folder / (re.sub(r"\W+", "_", url)[:150] or "root")).write_bytes(
            f"{answer.status_code} {sorted(heads.items())}\n".encode().replace(b"", b"") + text
        )


def test_dump(filled, id_folder, tmp_path):
    for name, folder, store in (
        ("dr", filled.folder, filled.store),
        ("boss", id_folder, fill_id_store(id_folder, tmp_path)),
    ):
        app = create_app([folder], store)
        with TestClient(app) as client:
            index = Index([folder], store)
            index.settle()
            ids = store.ids()
            boards = [b.name for b in index.boards()]
            time.sleep(8)
            urls = [
                "/",
                "/?sort=model",
                "/?q=poor",
                "/rows",
                "/?intervals=full",
                "/about",
                "/data",
                "/submit-plain",
                "/nothing",
                "/forecast",
                "/forecast.csv",
                "/forecast.json",
                "/overall.csv",
                "/scores.json?id=zz",
                "/static/page.css",
                "/static/page.js",
                "/logout",
                "/healthz",
                "/entry?id=0000",
                "/compare",
                "/?x=cost&page=a",
                "/data?task=zz",
                "/forecast?method=zz",
                "/rows?board=zz",
            ]
            for b in boards:
                urls += [
                    f"/?board={b}",
                    f"/?board={b}&intervals=full&reported=shown",
                    f"/?board={b}&sort=name&order=desc&q=e",
                    f"/?board={b}&paradigm=zero-shot&size=unknown",
                    f"/board.csv?board={b}",
                    f"/rows?board={b}&page=9",
                    f"/forecast?board={b}",
                    f"/data?task={b}",
                    f"/?board={b}&picks={','.join(ids[:2])}&x=parameters",
                ]
            for i in ids:
                urls += [f"/entry?id={i}", f"/entry?id={i}&task=ner", f"/scores.json?id={i}"]
            urls += [
                "/compare?" + "&".join(f"id={i}" for i in ids[:2]),
                "/compare?" + "&".join(f"id={i}" for i in ids[:5]),
                "/compare?id=" + ids[0],
            ]
            dump(name, client, urls)
