"""The submit form without script: a page of HTML, and the route that its one button posts file and card to.

What it takes is bounded as Gradio's form is (``middleware``), and goes the same way: the same line, the same checks in
processes of their own, the same quota, the same rule about senders. Only this server's own pages may post here. What
takes longer than a page waits is answered with its place in the line and a secret address, at which the browser asks
again by itself.
Where submitters sign in, Hugging Face's page does that without script, too, and the session that Gradio keeps of it
(a signed cookie) names the submitter here as it does there; so these routes belong to Gradio's application.
"""

import secrets
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from fastapi.responses import Response
from gradio.utils import get_space
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.routing import Route

from shiftbench.leaderboard.app.answers import page_answer
from shiftbench.leaderboard.app.identity import Callers, is_own_page, local_submitter, session_user, signed_in_submitter
from shiftbench.leaderboard.app.jobs import Job, Jobs
from shiftbench.leaderboard.app.keeper import Keeper
from shiftbench.leaderboard.app.line import Line, LineFullError
from shiftbench.leaderboard.app.uploads import Uploads
from shiftbench.leaderboard.board.submission import SubmissionAnswer, check, refusal_answer, submit
from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.submit_page import Access, card_fields, card_with, only_data, plain_submit_html
from shiftbench.scoring.reports.frame.html import tag
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.scores.score import FileChecks
from shiftbench.validation.cards import MAX_CARD_BYTES
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput, Problem

SECONDS_OF_PATIENCE = 5.0
"""How long a page waits for an answer before it says which place in the line it has."""
SECONDS_BETWEEN_LOOKS = 2
MAX_FIELDS, MAX_FIELD_BYTES = 40, 128 * 1024
ACCEPTED, REFUSED, FORBIDDEN, GONE, BUSY = 202, 422, 403, 410, 503


class _Answered(NamedTuple):
    """What was sent, as the form shows it again, and the answer to it."""

    values: dict[str, str]
    answer: SubmissionAnswer


def plain_submit_routes(
    keeper: Keeper,
    uploads: Uploads,
    checks: FileChecks,
    line: Line,
    callers: Callers,
    *,
    sign_in: bool,
    daily_quota: int | None,
) -> list[Route]:
    """Return the form's routes, for the application that knows sessions."""
    jobs: Jobs[_Answered] = Jobs(line, keeper.faults, SECONDS_OF_PATIENCE)

    def form_page(request: Request, values: dict[str, str], answer: SubmissionAnswer | None = None) -> Response:
        body = plain_submit_html(
            keeper.index.folders,
            values,
            answer,
            access=_access(request) if sign_in else Access(),
            daily_quota=daily_quota,
        )
        page = page_answer("Submit", body, "submit", 200 if answer is None or answer["ok"] else REFUSED)
        if sign_in:
            page.headers["Cache-Control"] = "no-store"  # it may name the user who has signed in
        return page

    def sender(request: Request) -> str:
        if not sign_in:
            return local_submitter(request.client.host if request.client else None, request.headers)
        user = signed_in_submitter(_session_user(request), request.headers)
        callers.learn(request.headers, user)
        return user

    def ask(form: FormData, request: Request) -> Job[_Answered] | Response:
        """Keep what was sent, and return the job that answers it; where it cannot be read, the refusal."""
        values = {key: value for key, value in form.items() if isinstance(value, str)}
        try:
            card = _card_text(form, values, keeper)
        except InvalidInput as error:
            return form_page(request, values, refusal_answer(keeper.index, error.problems))
        by_index, is_submission = values.get("labels_by_index") == "yes", values.get("do") == "submit"
        saved = (_save_upload(form.get(name), uploads) for name in ("file", "validation"))
        path, held_out = (PredictionInput(Path(each), by_index) if each else None for each in saved)

        def answer(_: Job[_Answered]) -> _Answered:
            if is_submission:
                found = submit(
                    keeper.index,
                    path,
                    card,
                    sender=partial(sender, request),
                    daily_quota=daily_quota,
                    checks=checks,
                    validation=held_out,
                )
            else:
                found = check(keeper.index, path, card, checks, validation=held_out)
            return _Answered({**values, "card": card}, found)

        caller = callers.of(request)
        return jobs.ask(
            secrets.token_urlsafe(16), caller.name, answer, comes_first=is_submission and caller.is_signed_in
        )

    async def job_page(request: Request, job: Job[_Answered]) -> Response:
        """Show the answer to a job; while there is none, its place, and ask again."""
        if not await jobs.wait(job):
            where = f"Number {job.place} in line" if job.place else "It is being checked"
            body = tag("div", box("Your file has arrived", f"{where}."), role="status")
            page = page_answer("Submit", body, "submit", ACCEPTED)
            address = f"{addresses.PLAIN_SUBMIT}?{urlencode({'job': job.key})}"
            page.headers["Refresh"] = f"{SECONDS_BETWEEN_LOOKS}; url={address}"
            return page
        jobs.forget(job)
        if job.result is None:
            return page_answer("Submit", box("Not answered", *map(str, job.problems)), "submit", 500)
        return await run_in_threadpool(form_page, request, job.result.values, job.result.answer)

    async def form(request: Request) -> Response:
        key = request.query_params.get("job")
        if key is None:
            return form_page(request, {})
        if (job := jobs.find(key)) is None:
            words = "This answer was shown, or nobody came for it. A file that was accepted is on the board."
            return page_answer("Submit", box("No answer here", words), "submit", GONE)
        return await job_page(request, job)

    async def send(request: Request) -> Response:
        if not is_own_page(request.headers):  # before a byte of the body is read
            return page_answer(
                "Submit", box("Not accepted", "Send this form from the leaderboard's own page."), "submit", FORBIDDEN
            )
        async with request.form(max_files=3, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES) as sent:
            try:
                asked = await run_in_threadpool(ask, sent, request)
            except LineFullError as error:
                words = f"{error}: send yours again when one of them is done."
                return page_answer("Submit", box("Not now", words), "submit", BUSY)
        return asked if isinstance(asked, Response) else await job_page(request, asked)

    path = addresses.PLAIN_SUBMIT
    return [Route(path, form, methods=["GET"]), Route(path, send, methods=["POST"])]


def _session_user(request: Request) -> str | None:
    """Return the user who has signed in with this browser; where the server runs on no Space there are no sessions."""
    return session_user(request.scope.get("session", {}))


def _access(request: Request) -> Access:
    """Return how somebody submits where submitters sign in: they have done so, or may, or no browser can."""
    name = _session_user(request)
    is_space = get_space() is not None
    address = f"{addresses.SIGN_IN}?{urlencode({'_target_url': addresses.PLAIN_SUBMIT})}" if is_space else None
    return Access(may_submit=name is not None, signed_in_as=name, sign_in_address=address)


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


def _save_upload(sent: UploadFile | str | None, uploads: Uploads) -> str | None:
    """Keep what was sent as other uploads are kept, and return its path; None where no file was chosen."""
    if not isinstance(sent, UploadFile) or not sent.filename:
        return None
    return str(uploads.keep(sent.filename, sent.file, sent.size or 0))
