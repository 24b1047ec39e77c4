"""The submit form without script: a page of HTML, and the route that its one button posts file and card to.

What it takes is bounded as Gradio's form is (``leaderboard.app.limits``), and goes the same way: the same checks in
processes of their own, the same quota, the same rule of who may send. Only this server's own pages may post here, and
a browser's session counts for nothing: where submitters sign in, this form checks, and does not submit.
"""

import threading

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from leaderboard.app.answers import page_answer
from leaderboard.app.card_form import card_with
from leaderboard.app.identity import is_own_page, local_submitter
from leaderboard.app.keeper import Keeper
from leaderboard.app.uploads import Uploads
from leaderboard.board.submission import Answer, check, refused, submit
from leaderboard.scoring.score import FileChecks
from leaderboard.views import addresses
from leaderboard.views.card_fields import card_fields, only_data
from leaderboard.views.plain_submit_page import plain_submit_html
from leaderboard.views.site import box
from validation.cards import MAX_CARD_BYTES
from validation.report import InvalidInput, Problem

SCORED_AT_ONCE = 1
"""Files of this form that are checked or scored at the same time; another one is asked to come again."""
MAX_FIELDS, MAX_FIELD_BYTES = 40, 128 * 1024
REFUSED, FORBIDDEN, BUSY = 422, 403, 503


def add_plain_submit(
    app: FastAPI, keeper: Keeper, uploads: Uploads, checks: FileChecks, *, sign_in: bool, daily_quota: int | None
) -> None:
    """Add the form and its route."""
    free = threading.BoundedSemaphore(SCORED_AT_ONCE)

    def shown(values: dict[str, str], answer: Answer | None = None) -> Response:
        folders = keeper.index.folders
        body = plain_submit_html(folders, values, answer, may_submit=not sign_in, daily_quota=daily_quota)
        return page_answer("Submit", body, "submit", 200 if answer is None or answer["ok"] else REFUSED)

    def answered(form: FormData, request: Request) -> Response:
        values = {key: value for key, value in form.items() if isinstance(value, str)}
        sender = _refuse_sign_in if sign_in else (lambda: _local(request))
        try:
            card = _card_text(form, values, keeper)
        except InvalidInput as error:
            return shown(values, refused(keeper.index, error.problems))
        by_index = values.get("labels_by_index") == "yes"
        path = _kept(form.get("file"), uploads)
        if values.get("do") == "submit":
            answer = submit(
                keeper.index,
                path,
                card,
                sender=sender,
                daily_quota=daily_quota,
                checks=checks,
                labels_by_index=by_index,
            )
        else:
            answer = check(keeper.index, path, card, checks, labels_by_index=by_index)
        return shown({**values, "card": card}, answer)

    @app.get(addresses.PLAIN_SUBMIT)
    def form() -> Response:
        return shown({})

    @app.post(addresses.PLAIN_SUBMIT)
    async def send(request: Request) -> Response:
        if not is_own_page(request.headers):  # before a byte of the body is read
            return page_answer(
                "Submit", box("Not accepted", "Send this form from the leaderboard's own page."), "submit", 403
            )
        async with request.form(max_files=2, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES) as sent:
            if not free.acquire(blocking=False):
                words = "Another file is being scored: send yours again in a minute."
                return page_answer("Submit", box("Not now", words), "submit", BUSY)
            try:
                return await run_in_threadpool(answered, sent, request)
            finally:
                free.release()


def _local(request: Request) -> str:
    return local_submitter(request.client.host if request.client else None, request.headers)


def _refuse_sign_in() -> str:
    cure = "use the form with JavaScript, or 'shiftbench submit' with a token"
    raise InvalidInput(Problem("this form cannot know who has signed in", "submit", cure=cure))


def _card_text(form: FormData, values: dict[str, str], keeper: Keeper) -> str:
    """Return the card's text: that of its file, else the one typed, with what the fields say written into it."""
    text, file = values.get("card", ""), form.get("card_file")
    if isinstance(file, UploadFile) and file.filename:
        content = file.file.read(MAX_CARD_BYTES + 1)
        if len(content) > MAX_CARD_BYTES:
            raise InvalidInput(Problem("the card is too large", "card", cure="keep it under 64 KiB"))
        text = content.decode(errors="replace")
    folders = keeper.index.folders
    keys = [field.key for fields in card_fields(folders) for field in fields]
    fields = {key: values[key] for key in keys if values.get(key)}
    return card_with(text, fields, only_data(folders)) if text.strip() or fields else ""


def _kept(sent: UploadFile | str | None, uploads: Uploads) -> str | None:
    """Keep what was sent as other uploads are kept, and return its path; None where no file was chosen."""
    if not isinstance(sent, UploadFile) or not sent.filename:
        return None
    return str(uploads.keep(sent.filename, sent.file, sent.size or 0))
