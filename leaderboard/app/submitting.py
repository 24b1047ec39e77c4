"""The submit page: a form that works without script, and the route that its buttons post file and card to.

What it takes is bounded as Gradio's is (``middleware``), and goes the same way: the same line, the same checks in
processes of their own, the same quota, the same rule about senders. Only this server's own pages may post here. What
takes longer than a page waits is answered with its place in the line and a secret address, at which the browser asks
again by itself.
Where submitters sign in, Hugging Face's page does that without script, too, and the session (a signed cookie, which
Gradio reads as well) names the submitter here as it does there.
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
from shiftbench.leaderboard.app.keeper import Keeper
from shiftbench.leaderboard.app.line import Line, LineFullError
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
"""How long a page waits for an answer before it says which place in the line it has."""
SECONDS_BETWEEN_LOOKS = 2
MAX_FIELDS, MAX_FIELD_BYTES = 40, 128 * 1024
ACCEPTED, REFUSED, FORBIDDEN, GONE, BUSY = 202, 422, 403, 410, 503


class _Answered(NamedTuple):
    """What was sent, as the form shows it again, and the answer to it."""

    sent: Sent
    answer: SubmissionAnswer


class SubmitPage:
    """The page's answers."""

    def __init__(
        self,
        keeper: Keeper,
        uploads: Uploads,
        checks: FileChecks,
        line: Line,
        callers: Callers,
        *,
        sign_in: bool,
        daily_quota: int | None,
    ) -> None:
        self._keeper, self._uploads, self._checks, self._callers = keeper, uploads, checks, callers
        self._sign_in, self._daily_quota = sign_in, daily_quota
        self._jobs: Jobs[_Answered] = Jobs(line, keeper.faults, SECONDS_OF_PATIENCE)

    def routes(self, sign_ins: SignIns) -> list[Route]:
        """Return the page's routes, which know who has signed in."""

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
        body = submit_page(self._keeper.index.folders, sent, answer, access=access, daily_quota=self._daily_quota)
        is_refused = answer is not None and not answer["ok"] and sent.values.get("do") != "check"
        page = page_answer("Submit", body, "submit", REFUSED if is_refused else 200)
        if self._sign_in:
            page.headers["Cache-Control"] = "no-store"  # it may name the user who has signed in
        return page

    def _sender(self, request: Request) -> str:
        if not self._sign_in:
            return local_submitter(request.client.host if request.client else None, request.headers)
        user = signed_in_submitter(_session_user(request), request.headers)
        self._callers.learn(request.headers, user)
        return user

    def _ask(self, form: FormData, request: Request) -> Job[_Answered] | Response:
        """Keep what was sent, and return the job that answers it; where it cannot be read, the refusal."""
        values = {key: value for key, value in form.items() if isinstance(value, str)}
        kept = _save_upload(form.get("file"), self._uploads) or self._uploads.find(values.pop("kept", ""))
        held_out = _save_upload(form.get("validation"), self._uploads)
        sent = Sent(values, self._uploads.secret(kept) if kept else "")
        try:
            text, values, filled = fill_in(_card_text(form, values), values, sent.file_name)
            card_with(text, values)
        except InvalidInput as error:
            return self._form_page(request, sent, refusal_answer(self._keeper.index, error.problems))
        by_index, is_submission = values.get("labels_by_index") == "yes", values.get("do") == "submit"
        files = [PredictionInput(each, by_index) if each else None for each in (kept, held_out)]

        def answer(_: Job[_Answered]) -> _Answered:
            card, board = card_with(text, values), values.get("board") or None
            hub, note = (None, "") if is_submission else _ask_hub(values)
            if is_submission:
                found = submit(
                    self._keeper.index,
                    files[0],
                    card,
                    sender=partial(self._sender, request),
                    daily_quota=self._daily_quota,
                    checks=self._checks,
                    validation=files[1],
                    board=board,
                )
            else:
                found = check(self._keeper.index, files[0], card, self._checks, validation=files[1], board=board)
            found["note"] = " ".join(each for each in (found["note"], note) if each)
            return _Answered(Sent(values, sent.kept, filled, hub), found)

        caller = self._callers.of(request)
        return self._jobs.ask(
            secrets.token_urlsafe(16), caller.name, answer, comes_first=is_submission and caller.is_signed_in
        )

    def _change_entry(self, form: FormData, request: Request) -> Response:
        """Withdraw an entry of the sender's, or nominate it for the next round."""
        identity, task = (str(form.get(name, ""))[:100] for name in ("entry", "task"))
        known = partial(self._sender, request)
        if form.get("do") == "withdraw":
            return self._form_page(request, NOTHING_SENT, withdraw(self._keeper.index, identity, sender=known))
        return self._form_page(request, NOTHING_SENT, nominate_entry(self._keeper.index, identity, task, sender=known))

    async def _job_page(self, request: Request, job: Job[_Answered]) -> Response:
        """Show the answer to a job; while there is none, its place, and ask again."""
        if not await self._jobs.wait(job):
            where = f"Number {job.place} in line" if job.place else "It is being checked"
            body = tag("div", box("Your file has arrived", f"{where}."), role="status", id="submit-answer")
            page = page_answer("Submit", body, "submit", ACCEPTED)
            address = f"{addresses.SUBMIT}?{urlencode({'job': job.key})}"
            page.headers["Refresh"] = f"{SECONDS_BETWEEN_LOOKS}; url={address}"
            return page
        self._jobs.forget(job)
        if job.result is None:
            return page_answer("Submit", box("Not answered", *map(str, job.problems)), "submit", 500)
        return await run_in_threadpool(self._form_page, request, job.result.sent, job.result.answer)

    async def _show(self, request: Request) -> Response:
        key = request.query_params.get("job")
        if key is None:
            return self._form_page(request)
        if (job := self._jobs.find(key)) is None:
            words = "This answer was shown, or nobody came for it. A file that was accepted is on the board."
            return page_answer("Submit", box("No answer here", words), "submit", GONE)
        return await self._job_page(request, job)

    async def _send(self, request: Request) -> Response:
        if not is_own_page(request.headers):  # before a byte of the body is read
            return page_answer(
                "Submit", box("Not accepted", "Send this form from the leaderboard's own page."), "submit", FORBIDDEN
            )
        async with request.form(max_files=3, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES) as sent:
            if sent.get("do") in ("withdraw", "nominate"):
                return await run_in_threadpool(self._change_entry, sent, request)
            try:
                asked = await run_in_threadpool(self._ask, sent, request)
            except LineFullError as error:
                words = f"{error}: send yours again when one of them is done."
                return page_answer("Submit", box("Not now", words), "submit", BUSY)
        return asked if isinstance(asked, Response) else await self._job_page(request, asked)


def _session_user(request: Request) -> str | None:
    """Return the user who has signed in with this browser; where the server runs on no Space there are no sessions."""
    return session_user(request.scope.get("session", {}))


def _access(request: Request) -> Access:
    """Return how somebody submits where submitters sign in: they have done so, or may, or no browser can."""
    name = _session_user(request)
    is_space = space_name() is not None
    address = f"{addresses.SIGN_IN}?{urlencode({'_target_url': addresses.SUBMIT})}" if is_space else None
    return Access(may_submit=name is not None, signed_in_as=name, sign_in_address=address)


def _card_text(form: FormData, values: dict[str, str]) -> str:
    """Return the card's text: that of its file, else the one typed."""
    file = form.get("card_file")
    if not isinstance(file, UploadFile) or not file.filename:
        return values.get("card", "")
    content = file.file.read(MAX_CARD_BYTES + 1)
    if len(content) > MAX_CARD_BYTES:
        raise InvalidInput(Problem("the card is too large", "card", cure="keep it under 64 KiB"))
    return content.decode(errors="replace")


def _ask_hub(values: dict[str, str]) -> tuple[HubFacts | None, str]:
    """Read what the Hub says of the model that the form names; what went wrong is a note beside the answer."""
    try:
        return find_hub_facts(values.get("model_url"), values.get("base_model")), ""
    except InvalidInput as error:
        return None, f"{error}."


def _save_upload(sent: UploadFile | str | None, uploads: Uploads) -> Path | None:
    """Keep what was sent as other uploads are kept, and return its path; None where no file was chosen."""
    if not isinstance(sent, UploadFile) or not sent.filename:
        return None
    return uploads.keep(sent.filename, sent.file, sent.size or 0)
