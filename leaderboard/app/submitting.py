"""The submit page: a form that works without script, and the route that receives its file and card.

Submissions are limited and processed as in Gradio: the same limits on requests (``middleware``), queue, checks in
worker processes, quota, and rules about senders. Only this server's own pages may post here. If a job takes longer than
a page waits, the response shows its position in the queue, and the browser reloads a secret URL until it is done.

With sign-in, Hugging Face's page also works without script, and the session (a signed cookie, which Gradio reads as
well) identifies the submitter here as it does there.
"""

import secrets
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.routing import Route

from shiftbench.leaderboard.app.answers import page_answer
from shiftbench.leaderboard.app.identity import (
    Callers,
    is_own_page,
    local_submitter,
    session_user,
    signed_in_submitter,
    space_name,
)
from shiftbench.leaderboard.app.jobs import Job, Jobs
from shiftbench.leaderboard.app.line import Line, LineFullError
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.app.signing_in import SignIns, sessions
from shiftbench.leaderboard.app.uploads import Uploads
from shiftbench.leaderboard.board.submission import (
    SubmissionAnswer,
    check,
    nominate_entry,
    refusal_answer,
    submit,
    withdraw,
)
from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.submit_page import NOTHING_SENT, Access, Sent, card_with, fill_in, submit_page
from shiftbench.leaderboard.store.model_facts import HubFacts, find_hub_facts
from shiftbench.scoring.reports.frame.html import tag
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.scores.score import FileChecks
from shiftbench.validation.cards import MAX_CARD_BYTES
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput, Problem

SECONDS_OF_PATIENCE = 5.0
"""How long a page waits for a result before it shows the position in the queue."""
SECONDS_BETWEEN_LOOKS = 2
MAX_FIELDS, MAX_FIELD_BYTES = 40, 128 * 1024
ACCEPTED, REFUSED, FORBIDDEN, GONE, BUSY = 202, 422, 403, 410, 503


class _Answered(NamedTuple):
    """The submitted values, to fill the form again, and the response."""

    sent: Sent
    answer: SubmissionAnswer


class SubmitPage:
    """Request handlers of the page."""

    def __init__(
        self,
        live: LiveIndex,
        uploads: Uploads,
        checks: FileChecks,
        line: Line,
        callers: Callers,
        *,
        sign_in: bool,
        daily_quota: int | None,
    ) -> None:
        self._live, self._uploads, self._checks, self._callers = live, uploads, checks, callers
        self._sign_in, self._daily_quota = sign_in, daily_quota
        self._jobs: Jobs[_Answered] = Jobs(line, live.faults, SECONDS_OF_PATIENCE)

    def routes(self, sign_ins: SignIns) -> list[Route]:
        """Return the page's routes with session support."""

        async def moved(_: Request) -> Response:
            return RedirectResponse(addresses.SUBMIT, 308)

        path, known = addresses.SUBMIT, sessions(sign_ins)
        return [
            Route(path, self._show, methods=["GET"], middleware=known),
            Route(path, self._send, methods=["POST"], middleware=known),
            Route(addresses.PLAIN_SUBMIT, moved, methods=["GET"]),
        ]

    def _form_page(
        self, request: Request, sent: Sent = NOTHING_SENT, answer: SubmissionAnswer | None = None
    ) -> Response:
        access = _access(request) if self._sign_in else Access()
        body = submit_page(self._live.index.folders, sent, answer, access=access, daily_quota=self._daily_quota)
        is_refused = answer is not None and not answer["ok"] and sent.values.get("do") != "check"
        page = page_answer("Submit", body, "submit", REFUSED if is_refused else 200)
        if self._sign_in:
            page.headers["Cache-Control"] = "no-store"  # it may contain the signed-in user's name
        return page

    def _sender(self, request: Request) -> str:
        if not self._sign_in:
            return local_submitter(request.client.host if request.client else None, request.headers)
        user = signed_in_submitter(_session_user(request), request.headers)
        self._callers.learn(request.headers, user)
        return user

    def _ask(self, form: FormData, request: Request) -> Job[_Answered] | Response:
        """Store the upload, and return the job that handles it, or the rejection if the card is invalid."""
        values = {key: value for key, value in form.items() if isinstance(value, str)}
        kept = _save_upload(form.get("file"), self._uploads) or self._uploads.find(values.pop("kept", ""))
        held_out = _save_upload(form.get("validation"), self._uploads)
        sent = Sent(values, self._uploads.secret(kept) if kept else "")
        try:
            text, values, filled = fill_in(_card_text(form, values), values, sent.file_name)
            card_with(text, values)
        except InvalidInput as error:
            return self._form_page(request, sent, refusal_answer(self._live.index, error.problems))
        by_index, is_submission = values.get("labels_by_index") == "yes", values.get("do") == "submit"
        files = [PredictionInput(each, by_index) if each else None for each in (kept, held_out)]

        def answer(_: Job[_Answered]) -> _Answered:
            card, board = card_with(text, values), values.get("board") or None
            hub, note = (None, "") if is_submission else _ask_hub(values)
            if is_submission:
                found = submit(
                    self._live.index,
                    files[0],
                    card,
                    sender=partial(self._sender, request),
                    daily_quota=self._daily_quota,
                    checks=self._checks,
                    validation=files[1],
                    board=board,
                )
            else:
                found = check(self._live.index, files[0], card, self._checks, validation=files[1], board=board)
            found["note"] = " ".join(each for each in (found["note"], note) if each)
            return _Answered(Sent(values, sent.kept, filled, hub), found)

        caller = self._callers.of(request)
        return self._jobs.ask(
            secrets.token_urlsafe(16), caller.name, answer, comes_first=is_submission and caller.is_signed_in
        )

    def _change_entry(self, form: FormData, request: Request) -> Response:
        """Withdraw an entry of the sender, or nominate it for the next round."""
        identity, task = (str(form.get(name, ""))[:100] for name in ("entry", "task"))
        known = partial(self._sender, request)
        if form.get("do") == "withdraw":
            return self._form_page(request, NOTHING_SENT, withdraw(self._live.index, identity, sender=known))
        return self._form_page(request, NOTHING_SENT, nominate_entry(self._live.index, identity, task, sender=known))

    async def _job_page(self, request: Request, job: Job[_Answered]) -> Response:
        """Show a job's result; until it is done, show its position and reload."""
        if not await self._jobs.wait(job):
            where = f"Position {job.place} in the queue" if job.place else "It is being checked"
            body = tag("div", box("Your file has arrived", f"{where}."), role="status", id="submit-answer")
            page = page_answer("Submit", body, "submit", ACCEPTED)
            address = f"{addresses.SUBMIT}?{urlencode({'job': job.key})}"
            page.headers["Refresh"] = f"{SECONDS_BETWEEN_LOOKS}; url={address}"
            return page
        self._jobs.forget(job)
        if job.result is None:
            return page_answer("Submit", box("No result", *map(str, job.problems)), "submit", 500)
        return await run_in_threadpool(self._form_page, request, job.result.sent, job.result.answer)

    async def _show(self, request: Request) -> Response:
        key = request.query_params.get("job")
        if key is None:
            return self._form_page(request)
        if (job := self._jobs.find(key)) is None:
            words = "This result was already shown, or has expired. If the file was accepted, it is on the board."
            return page_answer("Submit", box("No result here", words), "submit", GONE)
        return await self._job_page(request, job)

    async def _send(self, request: Request) -> Response:
        if not is_own_page(request.headers):  # before reading the body
            return page_answer(
                "Submit", box("Not accepted", "Send this form from the leaderboard's own page."), "submit", FORBIDDEN
            )
        async with request.form(max_files=3, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES) as sent:
            if sent.get("do") in ("withdraw", "nominate"):
                return await run_in_threadpool(self._change_entry, sent, request)
            try:
                asked = await run_in_threadpool(self._ask, sent, request)
            except LineFullError as error:
                words = f"{error}: send yours again when one of them has finished."
                return page_answer("Submit", box("Try again later", words), "submit", BUSY)
        return asked if isinstance(asked, Response) else await self._job_page(request, asked)


def _session_user(request: Request) -> str | None:
    """Return the user who has signed in with this browser; None outside a Space, where there are no sessions."""
    return session_user(request.scope.get("session", {}))


def _access(request: Request) -> Access:
    """Return whether the visitor has signed in, and where to do so (nowhere outside a Space)."""
    name = _session_user(request)
    is_space = space_name() is not None
    address = f"{addresses.SIGN_IN}?{urlencode({'_target_url': addresses.SUBMIT})}" if is_space else None
    return Access(may_submit=name is not None, signed_in_as=name, sign_in_address=address)


def _card_text(form: FormData, values: dict[str, str]) -> str:
    """Return the card's text: from its file, else as typed."""
    file = form.get("card_file")
    if not isinstance(file, UploadFile) or not file.filename:
        return values.get("card", "")
    content = file.file.read(MAX_CARD_BYTES + 1)
    if len(content) > MAX_CARD_BYTES:
        raise InvalidInput(Problem("the card is too large", "card", cure="the limit is 64 KiB"))
    return content.decode(errors="replace")


def _ask_hub(values: dict[str, str]) -> tuple[HubFacts | None, str]:
    """Read the Hub's facts about the model in the form; an error becomes a note in the response."""
    try:
        return find_hub_facts(values.get("model_url"), values.get("base_model")), ""
    except InvalidInput as error:
        return None, f"{error}."


def _save_upload(sent: UploadFile | str | None, uploads: Uploads) -> Path | None:
    """Store an uploaded file and return its path; None if no file was chosen."""
    if not isinstance(sent, UploadFile) or not sent.filename:
        return None
    return uploads.save(sent.filename, sent.file, sent.size or 0)
