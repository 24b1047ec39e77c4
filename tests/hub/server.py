"""A Hub on the loopback interface that speaks what ``huggingface_hub`` and ``datasets`` really ask for.

Dataset repositories, Spaces and models; LFS uploads by basic transfer (clients set ``HF_HUB_DISABLE_XET=1``); pull
requests, each a branch ``refs/pr/<number>`` that nobody merges; sign-in of applications (``tests.hub.sign_in``). No
quotas.
"""

import hashlib
import json
import math
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import uvicorn
import yaml
from fastapi import Depends, FastAPI, Form, Header, Request
from fastapi.responses import FileResponse, JSONResponse, Response

from tests.hub.faults import Faults
from tests.hub.repositories import Refused, Repositories, Repository, Tree, changed, is_lfs, listing
from tests.hub.sign_in import add_sign_in
from tests.hub.spaces import MODEL_PREFIX, OtherRepositories, stored_name

READ, WRITE, ORGANISATION = "hf_read", "hf_write", "hf_organisation"
ACCOUNTS = {
    READ: ("tester", "user", "read"),
    WRITE: ("tester", "user", "write"),
    "hf_ada": ("ada", "user", "read"),
    ORGANISATION: ("acme", "org", "read"),
}
"""The tokens that the Hub knows: name and type of the account, role of the token."""
PAGE = 1_000
"""Entries of a tree that come in one answer."""

CREATED_AT = "2024-05-31T08:00:00.000Z"
"""When each repository was created."""

Authorization = Annotated[str, Header()]


def make_app(stored: Repositories, page: int = PAGE) -> FastAPI:
    """Return the Hub's application."""
    app = FastAPI(openapi_url=None)

    @app.exception_handler(Refused)
    def refused(_: Request, error: Refused) -> Response:
        headers = {"X-Error-Message": error.message} | ({"X-Error-Code": error.code} if error.code else {})
        return JSONResponse({"error": error.message}, error.status, headers)

    _add_account(app, stored)
    _add_reading(app, stored, page)
    _add_writing(app, stored)
    _add_uploads(app, stored)
    _add_downloads(app, stored)
    add_sign_in(app)
    app.add_middleware(OtherRepositories)
    return app


def _role(authorization: str) -> str | None:
    token = authorization.removeprefix("Bearer ")
    if token and token not in ACCOUNTS:
        raise Refused(401, "Invalid credentials in Authorization header")
    return token or None


def _writer(authorization: Authorization = "") -> None:
    """Check that a token has write access."""
    token = _role(authorization)
    if token is None:
        raise Refused(401, "Invalid username or password.")
    if token != WRITE:
        raise Refused(403, "you must use a write token to upload to a repository")


def _found(stored: Repositories, name: str, authorization: str) -> Repository:
    token = _role(authorization)
    repository = stored.by_name.get(name)
    if repository is None or (repository.private and token is None):
        # The Hub does not reveal to clients without a token whether a repository exists.
        raise Refused(404 if token else 401, "Repository not found", "RepoNotFound")
    return repository


def _add_account(app: FastAPI, stored: Repositories) -> None:
    @app.get("/api/whoami-v2")
    def whoami(authorization: Authorization = "") -> dict[str, Any]:
        token = _role(authorization)
        if token is None:
            raise Refused(401, "Invalid credentials in Authorization header")
        name, kind, role = ACCOUNTS[token]
        return {"type": kind, "name": name, "orgs": [], "auth": {"accessToken": {"role": role}}}

    @app.post("/api/repos/create", dependencies=[Depends(_writer)])
    async def create(request: Request) -> Response:
        asked = await request.json()
        name = f"{asked.get('organization') or 'tester'}/{asked['name']}"
        kind = f"{asked['type']}s"
        content = {"url": f"{str(request.base_url).rstrip('/')}/{kind}/{name}", "name": name}
        try:
            stored.create(name if kind == "datasets" else stored_name(name), asked.get("visibility") == "private")
        except Refused as error:
            return JSONResponse({**content, "error": error.message}, error.status)
        return JSONResponse(content)

    @app.post("/api/validate-yaml")
    async def validate_yaml(request: Request) -> Response:
        content = (await request.json())["content"]
        try:
            yaml.safe_load(content.split("---")[1]) if content.startswith("---") else None
        except yaml.YAMLError as error:
            return JSONResponse({"errors": [{"message": str(error)}], "warnings": []}, 400)
        return JSONResponse({"errors": [], "warnings": []})


def _about(stored: Repositories, files: Tree) -> dict[str, Any]:
    """Return what the Hub reads in a repository's files: the head of its README, and the size of its weights."""
    about: dict[str, Any] = {}
    if "README.md" in files:
        parts = (stored.objects / files["README.md"].sha256).read_bytes().decode().split("---")
        about["cardData"] = yaml.safe_load(parts[1]) if len(parts) > 2 else {}
    weights = [
        (stored.objects / file.sha256).read_bytes() for path, file in files.items() if path.endswith(".safetensors")
    ]
    if weights:
        tensors = [json.loads(each[8 : 8 + int.from_bytes(each[:8], "little")]) for each in weights]
        sizes = [math.prod(tensor["shape"]) for head in tensors for name, tensor in head.items() if name[0] != "_"]
        about["safetensors"] = {"parameters": {"F32": sum(sizes)}, "total": sum(sizes)}
    return about


def _add_reading(app: FastAPI, stored: Repositories, page: int) -> None:
    @app.get("/api/datasets/{org}/{name}")
    @app.get("/api/datasets/{org}/{name}/revision/{revision}")
    def info(org: str, name: str, revision: str = "main", authorization: Authorization = "") -> dict[str, Any]:
        repository = _found(stored, f"{org}/{name}", authorization)
        commit = repository.commit(unquote(revision))
        return {
            "id": repository.name,
            "sha": commit.oid,
            "private": repository.private,
            "gated": False,
            "disabled": False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
            "createdAt": CREATED_AT,
            "siblings": [{"rfilename": path} for path in commit.files],
            **(_about(stored, commit.files) if org.startswith(MODEL_PREFIX) else {}),
        }

    @app.get("/api/datasets/{org}/{name}/auth-check/write", dependencies=[Depends(_writer)])
    def may_write(org: str, name: str) -> dict[str, Any]:
        _found(stored, f"{org}/{name}", WRITE)
        return {}

    @app.get("/api/datasets/{org}/{name}/refs")
    def refs(org: str, name: str, authorization: Authorization = "") -> dict[str, Any]:
        repository = _found(stored, f"{org}/{name}", authorization)

        def listed(kind: str, targets: dict[str, str]) -> list[dict[str, str]]:
            return [{"name": key, "ref": f"refs/{kind}/{key}", "targetCommit": oid} for key, oid in targets.items()]

        return {
            "branches": listed("heads", repository.branches),
            "tags": listed("tags", repository.tags),
            "converts": [],
        }

    @app.get("/api/datasets/{org}/{name}/tree/{revision}")
    @app.get("/api/datasets/{org}/{name}/tree/{revision}/{path:path}")
    def tree(
        request: Request,
        org: str,
        name: str,
        revision: str,
        path: str = "",
        recursive: bool = False,
        cursor: int = 0,
        authorization: Authorization = "",
    ) -> Response:
        commit = _found(stored, f"{org}/{name}", authorization).commit(unquote(revision))
        entries = listing(commit.files, unquote(path).strip("/"), recursive=recursive)
        more = request.url.include_query_params(cursor=cursor + page)
        headers = {"Link": f'<{more}>; rel="next"'} if len(entries) > cursor + page else {}
        return JSONResponse(entries[cursor : cursor + page], headers=headers)

    @app.post("/api/datasets/{org}/{name}/paths-info/{revision}")
    def paths_info(
        org: str, name: str, revision: str, paths: Annotated[list[str], Form()], authorization: Authorization = ""
    ) -> list[dict[str, Any]]:
        files = _found(stored, f"{org}/{name}", authorization).commit(unquote(revision)).files
        every = {entry["path"]: entry for entry in listing(files, "", recursive=True)}
        return [every[path] for path in paths if path in every]


def _add_writing(app: FastAPI, stored: Repositories) -> None:
    @app.post("/api/datasets/{org}/{name}/branch/{branch}", dependencies=[Depends(_writer)])
    async def branch(request: Request, org: str, name: str, branch: str) -> dict[str, Any]:
        repository, asked = _found(stored, f"{org}/{name}", WRITE), json.loads(await request.body() or b"{}")
        with stored.lock:
            if unquote(branch) in repository.branches:
                raise Refused(409, "Reference already exists")
            repository.branches[unquote(branch)] = repository.commit(asked.get("startingPoint", "main")).oid
        return {}

    @app.post("/api/datasets/{org}/{name}/tag/{revision}", dependencies=[Depends(_writer)])
    async def tag(request: Request, org: str, name: str, revision: str) -> dict[str, Any]:
        repository, wanted = _found(stored, f"{org}/{name}", WRITE), (await request.json())["tag"]
        with stored.lock:
            if wanted in repository.tags:
                raise Refused(409, f"Tag reference exists already: {wanted}")
            repository.tags[wanted] = repository.commit(unquote(revision)).oid
        return {}

    @app.post("/api/datasets/{org}/{name}/preupload/{revision}", dependencies=[Depends(_writer)])
    async def preupload(request: Request, org: str, name: str, revision: str) -> dict[str, Any]:
        files = _found(stored, f"{org}/{name}", WRITE).commit(unquote(revision)).files
        answer = []
        for asked in (await request.json())["files"]:
            there = files.get(asked["path"])
            mode = "lfs" if is_lfs(asked["path"], asked["size"]) else "regular"
            known = {"oid": there.oid} if there else {}
            answer.append({"path": asked["path"], "uploadMode": mode, "shouldIgnore": False, **known})
        return {"files": answer}

    @app.post("/api/datasets/{org}/{name}/commit/{revision}", dependencies=[Depends(_writer)])
    async def commit(request: Request, org: str, name: str, revision: str, create_pr: int = 0) -> dict[str, Any]:
        repository, branch = _found(stored, f"{org}/{name}", WRITE), unquote(revision)
        header, *operations = [json.loads(line) for line in (await request.body()).splitlines()]
        with stored.lock:
            if branch not in repository.branches:
                raise Refused(404, f"Invalid rev id: {branch}", "RevisionNotFound")
            head = repository.commit(branch)
            parent = header["value"].get("parentCommit")
            if parent is not None and parent != head.oid:
                raise Refused(412, "A commit has happened since. Please refresh and try again.")
            number = 1 + sum(each.startswith("refs/pr/") for each in repository.branches)
            to = f"refs/pr/{number}" if create_pr else branch
            repository.branches[to] = head.oid
            made = repository.add(to, header["value"]["summary"], changed(head.files, operations, stored))
        place = f"{str(request.base_url).rstrip('/')}/datasets/{repository.name}"
        opened = {"pullRequestUrl": f"{place}/discussions/{number}"} if create_pr else {}
        return {"success": True, "commitOid": made.oid, "commitUrl": f"{place}/commit/{made.oid}", **opened}


def _add_uploads(app: FastAPI, stored: Repositories) -> None:
    @app.post("/datasets/{org}/{name}.git/info/lfs/objects/batch", dependencies=[Depends(_writer)])
    async def batch(request: Request, org: str, name: str) -> dict[str, Any]:
        _found(stored, f"{org}/{name}", WRITE)
        objects = []
        for asked in (await request.json())["objects"]:
            href = f"{str(request.base_url).rstrip('/')}/lfs/{asked['oid']}"
            there = (stored.objects / asked["oid"]).exists()
            objects.append(asked if there else {**asked, "actions": {"upload": {"href": href}}})
        return {"transfer": "basic", "objects": objects}

    @app.put("/lfs/{oid}")
    async def put(request: Request, oid: str) -> Response:
        digest, part = hashlib.sha256(), stored.objects / f".{oid}-{secrets.token_hex(4)}"
        try:
            with part.open("wb") as file:
                async for chunk in request.stream():
                    digest.update(chunk)
                    file.write(chunk)
            if digest.hexdigest() != oid:
                raise Refused(400, "the content is not what its name says")
            part.rename(stored.objects / oid)
        finally:
            part.unlink(missing_ok=True)
        return Response()


def _add_downloads(app: FastAPI, stored: Repositories) -> None:
    @app.api_route("/datasets/{org}/{name}/resolve/{revision}/{path:path}", methods=["GET", "HEAD"])
    def resolve(org: str, name: str, revision: str, path: str, authorization: Authorization = "") -> Response:
        commit = _found(stored, f"{org}/{name}", authorization).commit(unquote(revision))
        file = commit.files.get(unquote(path))
        commit_header = {"X-Repo-Commit": commit.oid}
        if file is None:
            headers = {**commit_header, "X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"}
            return JSONResponse({"error": "Entry not found"}, 404, headers)
        linked = {"X-Linked-Etag": f'"{file.oid}"', "X-Linked-Size": str(file.size)} if file.lfs else {}
        headers = {**commit_header, **linked, "ETag": f'"{file.oid}"'}
        return FileResponse(stored.objects / file.sha256, media_type="application/octet-stream", headers=headers)


@dataclass(frozen=True)
class LoopbackHub:
    """A running Hub: its address, what it stores, its log and faults."""

    url: str
    stored: Repositories
    faults: Faults

    def environment(self, home: Path, token: str | None = WRITE) -> dict[str, str]:
        """Return the variables that a client's process needs; it reads them at import."""
        return {
            "HF_ENDPOINT": self.url,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HOME": str(home),
            **({"HF_TOKEN": token} if token else {}),
        }


@contextmanager
def running_hub(folder: Path, page: int = PAGE) -> Iterator[LoopbackHub]:
    """Run a Hub that stores under a folder on a free port, in a thread of this process, until the block ends."""
    stored = Repositories(folder)
    faults = Faults(make_app(stored, page))
    # With the protocol named, asyncio sends small packets at once; without, each answer takes 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        config = uvicorn.Config(
            faults, log_level="critical", lifespan="off", proxy_headers=False, ws="none", http="h11"
        )  # type: ignore[arg-type]
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            _wait(server)
            yield LoopbackHub(f"http://127.0.0.1:{listening.getsockname()[1]}", stored, faults)
        finally:
            faults.release()
            server.should_exit = server.force_exit = True
            thread.join(timeout=10)


def _wait(server: uvicorn.Server) -> None:
    deadline = time.monotonic() + 10
    while not server.started:
        if time.monotonic() > deadline:
            raise TimeoutError("the loopback Hub did not start")
        time.sleep(0.01)
