"""The leaderboard's page and its named endpoints: wiring only. What is shown is made in ``leaderboard.views``.

Endpoints (``gradio_client.Client(url).predict(..., api_name=...)``), all figures in fractions:

    /check   file, card text -> {"ok", "entry", "new", "problems", "summary"}, nothing stored
    /submit  the same, and the entry is kept
    /scores  entry id -> its scores (``leaderboard.scores.Scores`` as JSON)
    /board   board name, such as "dr/nli" -> its rows, best first, then what papers report (key "reported")
"""

import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.themes import Soft

from builders.folder import DatasetFolder
from leaderboard.store import Store
from leaderboard.views import figures, pages, prose
from leaderboard.views.board import board_rows, boards, find_board, task_scores
from leaderboard.views.listing import Catalogue, Listed, say
from leaderboard.views.reported import reported_tables
from leaderboard.views.submission import MAX_UPLOAD_BYTES, Answer, check, local_submitter, submit
from validation.cards import MAX_CARD_BYTES
from validation.report import InvalidInput, Problem

Updates = dict[Any, Any]
SECONDS_KEPT = 3600
"""How long an uploaded file stays on disk; accepted ones are copied into the store."""


def create_app(folders: Sequence[DatasetFolder], store: Store) -> gr.Blocks:
    """Build the page over some datasets and a store; launch it with ``launch_options``."""
    catalogue = Catalogue(folders, store)
    with gr.Blocks(
        title="shiftbench: accuracy under domain shift",
        analytics_enabled=False,
        fill_width=True,
        delete_cache=(SECONDS_KEPT, SECONDS_KEPT),
    ) as app:
        _html(prose.brand_html())
        with gr.Tabs() as tabs:
            with gr.Tab("Leaderboard", id="board"):
                _board_tab(app, catalogue)
            with gr.Tab("Entry", id="entry"):
                _entry_tab(app, catalogue, tabs)
            with gr.Tab("Submit", id="submit"):
                _submit_tab(catalogue)
            with gr.Tab("About", id="about"):
                _html(prose.about_html())
                _html(pages.data_html(catalogue.folders))
        _read_endpoints(catalogue)
    app.queue(default_concurrency_limit=4, max_size=64)
    return app


def launch_options(folders: Sequence[DatasetFolder], store: Store) -> dict[str, Any]:
    """Give what ``create_app(...).launch`` needs for looks, limits and privacy."""
    return {
        "theme": _theme(),
        "css_paths": Path(pages.__file__).with_name("page.css"),
        "footer_links": ["api"],
        "max_file_size": MAX_UPLOAD_BYTES,
        "blocked_paths": [str(store.root.resolve()), *(str(folder.path.resolve()) for folder in folders)],
        "enable_monitoring": False,
        "run_history": False,
        "ssr_mode": False,
        "quiet": True,
    }


def serve(
    folders: Sequence[DatasetFolder],
    store: Store,
    host: str = "127.0.0.1",
    port: int = 7860,
    *,
    block: bool = True,
) -> gr.Blocks:
    """Serve the page at an address and say where, until Ctrl-C.

    Args:
        folders: the datasets to show.
        store: the entries.
        host: address to listen on.
        port: 0 takes any free one.
        block: False returns at once and prints nothing; ``close()`` the result to stop.
    Raises: InvalidInput when the port cannot be had; KeyboardInterrupt after Ctrl-C, with the page closed.
    """
    port = usable_port(host, port)
    app = create_app(folders, store)
    # Gradio's own wait would swallow Ctrl-C, and end as if all had been done.
    app.launch(server_name=host, server_port=port, prevent_thread_lock=True, **launch_options(folders, store))
    if block:
        print(f"the leaderboard is at {str(app.local_url).rstrip('/')}", file=sys.stderr, flush=True)
        try:
            while True:
                time.sleep(1)
        finally:
            app.close(verbose=False)
    return app


def usable_port(host: str, port: int) -> int:
    """Give a port that can be listened on: the one asked for, or any free one for 0; InvalidInput when it is taken."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
    except OSError as error:
        cure = "stop what listens there, or give another --port"
        what = "the page cannot listen here"
        raise InvalidInput(Problem(what, f"{host}:{port}", error.strerror or str(error), cure)) from error


def _theme() -> gr.Theme:
    """Give one accent colour dark enough to read on white, and the system's own fonts, so that none is fetched."""
    fonts = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif"]
    mono = ["ui-monospace", "Menlo", "Consolas", "monospace"]
    return Soft(
        primary_hue="teal", secondary_hue="teal", neutral_hue="slate", radius_size="md", font=fonts, font_mono=mono
    ).set(
        color_accent="*primary_700",
        block_title_background_fill="none",
        block_title_background_fill_dark="none",
        block_title_text_color="*neutral_600",
        block_title_text_color_dark="*neutral_300",
        block_label_background_fill="*neutral_50",
        block_label_background_fill_dark="*neutral_800",
        block_label_text_color="*neutral_600",
        block_label_text_color_dark="*neutral_300",
        block_label_shadow="none",
        body_text_color_subdued="*neutral_500",
        input_shadow="none",
        input_background_fill_dark="*neutral_800",
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="*neutral_400",
        input_border_width="1px",
        input_border_color="*neutral_200",
        input_border_color_dark="*neutral_700",
        button_secondary_border_color="*neutral_300",
        button_secondary_border_color_dark="*neutral_600",
        button_border_width="1px",
        button_primary_shadow="none",
        button_secondary_shadow="none",
        body_background_fill="white",
        block_title_text_weight="600",
        block_title_padding="0",
        block_shadow="none",
        block_border_width="0px",
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        button_secondary_background_fill_dark="*neutral_700",
        button_secondary_background_fill_hover_dark="*neutral_600",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_dark="*primary_700",
        checkbox_label_background_fill_selected="*primary_700",
        checkbox_label_background_fill_selected_dark="*primary_700",
        checkbox_label_shadow="none",
        checkbox_label_border_width="1px",
    )


def _board_tab(app: gr.Blocks, catalogue: Catalogue) -> None:
    choices = [board.name for board in boards(catalogue.folders)]
    choice = gr.Radio(
        choices, value=choices[0] if choices else None, label="Benchmark and task", elem_id="board-choice"
    )
    table = _html("", elem_id="board", js_on_load=prose.SORT_SCRIPT)
    legend = _html(pages.legend_html())

    def show(name: str | None) -> Updates:
        listed = catalogue.entries()
        known = boards(catalogue.folders, listed)
        names = [board.name for board in known]
        if not known:
            return {choice: gr.Radio(choices=[], visible=False), table: pages.no_data_html()}
        try:
            board = find_board(name or names[0], known)
        except InvalidInput as error:
            message = pages.message_html("Not found", str(error))
            return {choice: gr.Radio(choices=names, value=None), table: message}
        content = pages.board_html(board, board_rows(board, listed), listed)
        chosen = gr.Radio(choices=names, value=board.name)
        return {choice: chosen, table: content, legend: pages.legend_html(board)}

    def open_page(request: gr.Request) -> Updates:
        return show(request.query_params.get("board"))

    outputs = [choice, table, legend]
    app.load(open_page, outputs=outputs, api_visibility="private", show_progress="hidden")
    choice.input(show, choice, outputs, api_visibility="private", show_progress="hidden")


def _entry_tab(app: gr.Blocks, catalogue: Catalogue, tabs: gr.Tabs) -> None:
    with gr.Row():
        entry = gr.Dropdown([], label="Entry", elem_id="entry-choice", scale=3)
        task = gr.Radio([], label="Task", visible=False, elem_id="task-choice", scale=1)
    about = _html("", elem_id="entry-about")
    plots: dict[str, tuple[gr.Column, gr.Plot]] = {}
    with gr.Row(equal_height=False):
        for key in ("ST", "SD", "TD"):
            plots[key] = _plot(key)
    with gr.Row(equal_height=False):
        for key in ("scenarios", "depth"):
            plots[key] = _plot(key)
    with gr.Column(visible=False) as gaps:
        _html(prose.figure_heading("missing"))
        missing = _html("", elem_id="entry-missing")

    def show(identity: str | None, task_name: str | None = None) -> Updates:
        listed = catalogue.entries()
        choices = [(_entry_label(item), item.id) for item in listed]
        identity = identity or (listed[0].id if listed else None)
        updates: Updates = {column: gr.Column(visible=False) for column, _ in plots.values()}
        updates |= {gaps: gr.Column(visible=False), task: gr.Radio(visible=False)}
        if identity is None:
            return {
                **updates,
                entry: gr.Dropdown(choices=[], value=None, visible=False),
                about: pages.no_entries_html(),
            }
        try:
            item = catalogue.entry(identity)
        except InvalidInput as error:
            message = pages.message_html("Not found", say(error.problems[0], catalogue.names()))
            return {**updates, entry: gr.Dropdown(choices=choices, value=None, visible=True), about: message}
        updates[entry] = gr.Dropdown(choices=choices, value=item.id, visible=True)
        names = [scored.task for scored in item.scores.tasks] if item.scores else []
        name = task_name if task_name in names else next(iter(names), None)
        scored = task_scores(item.scores, name) if item.scores and name else None
        updates[about] = pages.entry_html(item, scored)
        if scored is not None:
            updates[task] = gr.Radio(choices=names, value=name, visible=len(names) > 1)
            updates[gaps], updates[missing] = gr.Column(visible=True), pages.missing_html(item, name)
            for key, figure in _figures(scored).items():
                column, plot = plots[key]
                updates[column], updates[plot] = gr.Column(visible=True), figure
        return updates

    def open_page(request: gr.Request) -> Updates:
        wanted = request.query_params.get("entry")
        updates = show(wanted)
        return {**updates, tabs: gr.Tabs(selected="entry")} if wanted else updates

    outputs = [entry, task, about, gaps, missing, *(part for pair in plots.values() for part in pair)]
    app.load(open_page, outputs=[tabs, *outputs], api_visibility="private", show_progress="hidden")
    entry.input(show, entry, outputs, api_visibility="private", show_progress="hidden")
    task.input(show, [entry, task], outputs, api_visibility="private", show_progress="hidden")


def _submit_tab(catalogue: Catalogue) -> None:
    _html(prose.submit_html())
    with gr.Row(equal_height=False):
        with gr.Column(min_width=300):
            file = _upload_only(gr.File(label="Prediction file", height=240, elem_id="prediction-file"))
        with gr.Column(min_width=300):
            card = gr.Textbox(
                label="Card (YAML or JSON)",
                placeholder=prose.CARD_EXAMPLE,
                lines=8,
                max_lines=18,
                elem_id="card-text",
            )
            card_file = _upload_only(gr.UploadButton("Load the card from a file", size="sm", elem_id="card-file"))
    with gr.Row(elem_id="send"):
        check_button = gr.Button("Check", variant="secondary", scale=0, min_width=150)
        submit_button = gr.Button("Submit", variant="primary", scale=0, min_width=150)
    answer = gr.JSON(visible=False)
    report = _html("", elem_id="answer")

    def check_file(file: str | None, card: str) -> Answer:
        """Check and score a prediction file without keeping it; every problem is listed."""
        return check(catalogue, file, card)

    def submit_file(file: str | None, card: str, request: gr.Request) -> Answer:
        """Check, score and keep a prediction file; the same file and card sent twice are one entry."""
        submitter = local_submitter(request.client.host if request.client else None, request.headers)
        return submit(catalogue, file, card, submitter=submitter)

    card_file.upload(_card_text, card_file, card, api_visibility="private")
    handlers: list[tuple[gr.Button, Callable[..., Answer], str]] = [
        (check_button, check_file, "check"),
        (submit_button, submit_file, "submit"),
    ]
    for button, handler, name in handlers:
        sent = button.click(handler, [file, card], answer, api_name=name, show_progress_on=report)
        sent.success(pages.answer_html, answer, report, api_visibility="private", show_progress="hidden")


def _read_endpoints(catalogue: Catalogue) -> None:
    def scores(entry: str) -> dict[str, Any]:
        """Give an entry's scores, as fractions."""
        item = _or_error(lambda: catalogue.entry(entry))
        if item.scores is None:
            raise gr.Error("not scored on this server: " + "; ".join(item.reasons), print_exception=False)
        content: dict[str, Any] = item.scores.model_dump(mode="json")
        return content

    def board(task: str) -> list[dict[str, Any]]:
        """Give a board's rows, as fractions, best first; boards are named as on the page, such as 'dr/nli'.

        After them come rows that a paper reports, which name its table in 'reported' (null for entries).
        """
        listed = catalogue.entries()
        found = _or_error(lambda: find_board(task, boards(catalogue.folders, listed)))
        printed = [row.as_dict() for table in reported_tables(found) for row in table.rows]
        return [*(row.as_dict() for row in board_rows(found, listed)), *printed]

    gr.api(scores, api_name="scores")
    gr.api(board, api_name="board")


def _or_error(read: Callable[[], Any]) -> Any:
    """Tell a client what was wrong with a request, in the words of the refusal."""
    try:
        return read()
    except InvalidInput as error:
        raise gr.Error(str(error), print_exception=False) from error


def _figures(task: Any) -> dict[str, Any]:
    drawn: dict[str, Any] = {"ST": figures.heatmap(task, "ST")}
    if figures.has_drops(task):
        drawn |= {"SD": figures.heatmap(task, "SD"), "TD": figures.heatmap(task, "TD")}
        drawn["scenarios"] = figures.scenario_plane(task)
    if figures.has_depth(task):
        drawn["depth"] = figures.depth_curves(task)
    return drawn


def _plot(key: str) -> tuple[gr.Column, gr.Plot]:
    with gr.Column(visible=False, min_width=300) as column:
        _html(prose.figure_heading(key))
        plot = gr.Plot(show_label=False, container=False, elem_id=f"plot-{key}")
    return column, plot


def _html(value: str, **options: Any) -> gr.HTML:
    return gr.HTML(value, elem_classes=["sb-page"], apply_default_css=False, **{"js_on_load": None, **options})


def _entry_label(item: Listed) -> str:
    when = f" · {item.entry.submitter} · {item.entry.submitted_at[:10]}" if item.entry else " · unreadable card"
    return f"{item.name}{when} · {item.id[:6]}"


def _card_text(path: str | None) -> str:
    """Read a card's file into the text box, where its problems are then told."""
    if path is None or Path(path).stat().st_size > MAX_CARD_BYTES:
        raise gr.Error("the card's file is larger than 64 KiB", print_exception=False)
    return Path(path).read_text(encoding="utf-8", errors="replace")


def _upload_only(component: Any) -> Any:
    """Let a component take uploaded files only: Gradio would also fetch a file from an address that a client names."""
    move = component.async_move_resource_to_block_cache

    async def refuse_addresses(path: Any) -> str | None:
        if isinstance(path, str) and "://" in path:
            raise gr.Error("send the file itself, not an address", print_exception=False)
        moved: str | None = await move(path)
        return moved

    component.async_move_resource_to_block_cache = refuse_addresses
    return component
