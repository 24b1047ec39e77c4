"""Gradio's page and the submission endpoints, with Gradio's uploads, queue and sign-in on a Space.

/check     file, card text, labels by index, validation predictions, board -> a response
           (``shiftbench.leaderboard.board.submission.SubmissionAnswer``); nothing is stored
/submit    the same, and the entry is stored
/withdraw  entry id -> a response; for its submitter only
/nominate  entry id, task -> a response; for its submitter only, if labels are withheld
"""

import json
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from gradio.route_utils import FnIndexInferError
from gradio.themes import Soft
from starlette.middleware import Middleware
from starlette.routing import Mount

from shiftbench.leaderboard.app.endpoints import add_endpoints
from shiftbench.leaderboard.app.gradio_queue import LINE_ID, MAX_REMEMBERED_SESSIONS, GuardedBlocks
from shiftbench.leaderboard.app.identity import Callers, local_submitter, signed_in_submitter, space_name
from shiftbench.leaderboard.app.line import AT_ONCE, Line
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.app.signing_in import CurrentSignIns, SignIns
from shiftbench.leaderboard.app.uploads import Uploads
from shiftbench.leaderboard.board.submission import (
    MAX_UPLOAD_BYTES,
    SubmissionAnswer,
    boards_to_submit_to,
    check,
    nominate_entry,
    submit,
    withdraw,
)
from shiftbench.leaderboard.pages.addresses import BOARD, GRADIO_PAGE
from shiftbench.leaderboard.pages.shell import footer, header, render
from shiftbench.leaderboard.pages.submit_page import answer_html
from shiftbench.scoring.reports.frame.site import style_sheet
from shiftbench.scoring.scores.score import FileChecks
from shiftbench.validation.cards import MAX_CARD_BYTES
from shiftbench.validation.prediction_files import PredictionInput

_CARD_EXAMPLE = """name: My model
paradigm: fine-tuned
base_model: lab/model"""

Sender = Callable[[gr.Request, gr.OAuthProfile | None], str]


def mount_gradio(
    app: FastAPI,
    live: LiveIndex,
    checks: FileChecks,
    uploads: Uploads,
    line: Line,
    callers: Callers,
    sign_ins: SignIns,
    *,
    sign_in: bool,
    daily_quota: int | None,
    root_path: str,
) -> FastAPI:
    """Mount Gradio's application and return it: the page, the endpoints, their OpenAPI document, the MCP server.

    The caller must start the lifespan of the returned application, since ``app`` has already started.
    """
    title = "Submit \N{MIDDLE DOT} shiftbench"
    with GuardedBlocks(line=line, callers=callers, title=title, analytics_enabled=False, fill_width=True) as blocks:
        add_endpoints(live)
    blocks.uploads, blocks.faults = uploads, live.faults
    blocks.state_session_capacity = MAX_REMEMBERED_SESSIONS
    with blocks.route("Submit", GRADIO_PAGE):
        _add_page(live, checks, callers, sign_in=sign_in, daily_quota=daily_quota)
    # An open API (/run) would bypass the queue and its limit on concurrent calls.
    blocks.queue(default_concurrency_limit=4, max_size=64, api_open=False)
    with warnings.catch_warnings():
        # Gradio warns that pages are not rendered on the server, which is intended.
        warnings.filterwarnings("ignore", message="SSR mode")
        gr.mount_gradio_app(
            app,
            blocks,
            path=BOARD,
            theme=theme(),
            css=style_sheet(),
            footer_links=["api"],
            max_file_size=MAX_UPLOAD_BYTES,
            enable_monitoring=False,
            run_history=False,
            ssr_mode=False,
            show_error=False,
            mcp_server=True,
            root_path=root_path,
            app_kwargs={
                "middleware": [Middleware(CurrentSignIns, sign_ins=sign_ins)],
                "exception_handlers": {FnIndexInferError: _no_such_endpoint, RequestValidationError: _invalid_request},
            },
        )
    gradio = app.routes[-1]
    assert isinstance(gradio, Mount)
    assert isinstance(gradio.app, FastAPI)
    begin = gradio.app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(gradio_app: FastAPI) -> AsyncIterator[None]:
        async with begin(gradio_app):
            blocks.run_startup_events()
            await blocks.run_extra_startup_events()
            yield

    gradio.app.router.lifespan_context = lifespan
    return gradio.app


async def _no_such_endpoint(_: Request, __: Exception) -> Response:
    """Respond with 404 to an unknown endpoint, on which Gradio would raise an error."""
    return JSONResponse({"detail": "there is no such endpoint: /gradio_api/info lists them"}, 404)


async def _invalid_request(_: Request, error: Exception) -> Response:
    """Respond with what is wrong, and where, in a request whose body or query does not match the schema.

    FastAPI would repeat the input, and fail on values that JSON or UTF-8 cannot represent: infinity, lone surrogates.
    """
    assert isinstance(error, RequestValidationError)
    wrong = [{key: each[key] for key in ("type", "loc", "msg")} for each in error.errors()]
    return Response(json.dumps({"detail": wrong}), 422, media_type="application/json")  # json.dumps escapes non-ASCII


def _add_page(live: LiveIndex, checks: FileChecks, callers: Callers, *, sign_in: bool, daily_quota: int | None) -> None:
    _html(header("submit"))
    _html(render("gradio.html", sign_in=sign_in, daily_quota=daily_quota))
    # Outside a Space, Gradio would sign every visitor in as the server's own user.
    if sign_in and space_name() is not None:
        gr.LoginButton("Sign in with Hugging Face", size="md", elem_id="sign-in")
    names = [board.name for board in boards_to_submit_to(live.index.folders)]
    with gr.Row(equal_height=False):
        with gr.Column(min_width=300):
            board = gr.Dropdown(
                names, value=names[0] if len(names) == 1 else None, label="Benchmark and task", elem_id="board"
            )
            file = gr.File(label="Prediction file (required)", height=200, elem_id="prediction-file")
            by_index = gr.Checkbox(
                label="Labels by index",
                info="The predictions are numbers: the position of the label in the task's list, from 0.",
                elem_id="labels-by-index",
            )
            with gr.Accordion("Validation predictions, for forecasts (optional)", open=False):
                validation_file = gr.File(
                    label="Predictions of the same models on validation rows", height=120, elem_id="validation-file"
                )
        with gr.Column(min_width=300):
            card = gr.Textbox(
                label="Card (required; YAML or JSON)",
                placeholder=_CARD_EXAMPLE,
                lines=8,
                max_lines=18,
                max_length=MAX_CARD_BYTES,
                elem_id="card-text",
            )
    with gr.Row(elem_id="send"):
        check_button = gr.Button("Check", variant="secondary", scale=0, min_width=150)
        submit_button = gr.Button("Submit", variant="primary", scale=0, min_width=150)
    answer = gr.JSON(visible=False)
    report = _html("", elem_id="answer")
    with gr.Accordion("Withdraw one of your entries", open=False):
        entry = gr.Textbox(label="Entry", placeholder="16 hexadecimal digits", max_length=100, elem_id="withdraw-id")
        withdraw_button = gr.Button("Withdraw", scale=0, min_width=150)
    sender = _sender(callers, sign_in=sign_in)
    withheld = any(not folder.has_public_labels for folder in live.index.folders)
    with gr.Accordion("Nominate one of your entries for the next round", open=False, visible=withheld):
        chosen = gr.Textbox(label="Entry", placeholder="16 hexadecimal digits", max_length=100, elem_id="nominate-id")
        task = gr.Textbox(label="Task", placeholder="all of its tasks", max_length=100, elem_id="nominate-task")
        nominate_button = gr.Button("Nominate", scale=0, min_width=150)
    _html(footer())

    def check_file(
        file: str | None,
        card: str,
        labels_by_index: bool = False,
        validation: str | None = None,
        board: str | None = None,
    ) -> SubmissionAnswer:
        """Check a prediction file without storing it: list every problem, and preview the scores.

        Args:
            file: the prediction file (.parquet, .jsonl or .csv).
            card: the card's text, YAML or JSON.
            labels_by_index: the predictions are numbers, the position of the label in the task's list, from 0.
            validation: a file with predictions of the same models on validation rows, for forecasts.
            board: the board's name, such as dr/nli, instead of the card's data and subset.
        """
        sent, held_out = _uploaded(file, validation, labels_by_index)
        return check(live.index, sent, card, checks, validation=held_out, board=board)

    def submit_file(
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        file: str | None,
        card: str,
        labels_by_index: bool = False,
        validation: str | None = None,
        board: str | None = None,
    ) -> SubmissionAnswer:
        """Check, score and store a prediction file; if the same file and card are sent twice, they are one entry.

        Args:
            request: the HTTP request, which identifies the sender.
            profile: the user who has signed in with this browser.
            file: the prediction file (.parquet, .jsonl or .csv).
            card: the card's text, YAML or JSON.
            labels_by_index: the predictions are numbers, the position of the label in the task's list, from 0.
            validation: a file with predictions of the same models on validation rows, for forecasts.
            board: the board's name, such as dr/nli, instead of the card's data and subset.
        """
        sent, held_out = _uploaded(file, validation, labels_by_index)
        return submit(
            live.index,
            sent,
            card,
            sender=lambda: sender(request, profile),
            daily_quota=daily_quota,
            checks=checks,
            validation=held_out,
            board=board,
        )

    def withdraw_entry(entry: str, request: gr.Request, profile: gr.OAuthProfile | None) -> SubmissionAnswer:
        """Withdraw one of your entries from the leaderboard.

        Args:
            entry: the entry's id.
            request: the HTTP request, which identifies the sender.
            profile: the user who has signed in with this browser.
        """
        return withdraw(live.index, entry, sender=lambda: sender(request, profile))

    def nominate_for_round(
        entry: str, task: str, request: gr.Request, profile: gr.OAuthProfile | None
    ) -> SubmissionAnswer:
        """Nominate one of your entries for the next round, which ranks entries on withheld labels.

        Args:
            entry: the entry's id.
            task: one of its tasks, such as nli; empty for all of them.
            request: the HTTP request, which identifies the sender.
            profile: the user who has signed in with this browser.
        """
        return nominate_entry(live.index, entry, task, sender=lambda: sender(request, profile))

    handlers: list[tuple[gr.Button, Callable[..., SubmissionAnswer], list[Any], str]] = [
        (check_button, check_file, [file, card, by_index, validation_file, board], "check"),
        (submit_button, submit_file, [file, card, by_index, validation_file, board], "submit"),
        (withdraw_button, withdraw_entry, [entry], "withdraw"),
    ]
    if withheld:
        handlers.append((nominate_button, nominate_for_round, [chosen, task], "nominate"))
    at_once = {"concurrency_limit": AT_ONCE, "concurrency_id": LINE_ID}  # waiting users see their position in the queue
    for button, handler, inputs, name in handlers:
        gr.on([], handler, inputs, answer, api_name=name, **at_once)
        button.click(_reported(handler), inputs, report, api_visibility="private", **at_once)


def _reported(handler: Callable[..., SubmissionAnswer]) -> Callable[..., str]:
    """Return a function that calls a handler and renders its response in the same call.

    If rendering were a separate endpoint, clients could make it display and store arbitrary content.
    """

    @wraps(handler)
    def report(*arguments: Any) -> str:
        return answer_html(handler(*arguments))

    return report


def _sender(callers: Callers, *, sign_in: bool) -> Sender:
    def signed_in(request: gr.Request, profile: gr.OAuthProfile | None) -> str:
        user = signed_in_submitter(profile.username if profile else None, request.headers)
        callers.learn(request.headers, user)
        return user

    def local(request: gr.Request, profile: gr.OAuthProfile | None) -> str:
        return local_submitter(request.client.host if request.client else None, request.headers)

    return signed_in if sign_in else local


def _html(value: str, **options: Any) -> gr.HTML:
    return gr.HTML(value, elem_classes=["sb-page"], apply_default_css=False, js_on_load=None, **options)


def _uploaded(file: str | None, validation: str | None, by_index: bool) -> list[PredictionInput | None]:
    """Return the files that the form sent, with their reading options; None for each missing one."""
    return [PredictionInput(Path(each), by_index) if each else None for each in (file, validation)]


_THEME = {
    "*primary_700": "color_accent button_primary_background_fill button_primary_background_fill_dark "
    "checkbox_label_background_fill_selected checkbox_label_background_fill_selected_dark",
    "none": "block_title_background_fill block_title_background_fill_dark block_label_shadow input_shadow "
    "button_primary_shadow button_secondary_shadow block_shadow checkbox_label_shadow",
    "*neutral_600": "block_title_text_color block_label_text_color button_secondary_border_color_dark "
    "button_secondary_background_fill_hover_dark",
    "*neutral_300": "block_title_text_color_dark block_label_text_color_dark button_secondary_border_color",
    "*neutral_50": "block_label_background_fill",
    "*neutral_800": "block_label_background_fill_dark input_background_fill_dark",
    "*neutral_500": "body_text_color_subdued input_placeholder_color",
    "*neutral_400": "input_placeholder_color_dark",
    "1px": "input_border_width button_border_width checkbox_label_border_width",
    "*neutral_200": "input_border_color",
    "*neutral_700": "input_border_color_dark button_secondary_background_fill_dark",
    "white": "body_background_fill",
    "600": "block_title_text_weight",
    "0": "block_title_padding",
    "0px": "block_border_width",
    "transparent": "block_background_fill block_background_fill_dark",
    "*primary_800": "button_primary_background_fill_hover",
}
"""Settings of Gradio's theme, grouped by value."""


def theme() -> gr.Theme:
    """Build the theme: one accent colour dark enough to read on white, and system fonts, so that none is downloaded."""
    fonts = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif"]
    mono = ["ui-monospace", "Menlo", "Consolas", "monospace"]
    base = Soft(
        primary_hue="teal", secondary_hue="teal", neutral_hue="slate", radius_size="md", font=fonts, font_mono=mono
    )
    return base.set(**{name: value for value, names in _THEME.items() for name in names.split()})
