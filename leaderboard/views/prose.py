"""The page's fixed texts, and the few lines of script that sort a table in the browser."""

from leaderboard.views.html import Markup, tag

SORT_SCRIPT = """
element.addEventListener('click', (event) => {
  const button = event.target.closest('thead button');
  if (!button) return;
  const head = button.closest('th'), table = head.closest('table');
  const column = Array.from(head.parentNode.children).indexOf(head);
  const up = head.getAttribute('aria-sort') !== 'ascending';
  table.querySelectorAll('th[aria-sort]').forEach((other) => other.removeAttribute('aria-sort'));
  head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
  const value = (row) => row.children[column].dataset.value ?? row.children[column].textContent;
  const order = (a, b) => {
    const x = value(a), y = value(b);
    if (x === '' || y === '') return (x === '') - (y === '');
    const numbers = Number(x) - Number(y);
    const by = Number.isNaN(numbers) ? x.localeCompare(y) : numbers;
    return up ? by : -by;
  };
  for (const body of table.tBodies) Array.from(body.rows).sort(order).forEach((row) => body.appendChild(row));
});
"""
"""Sorts by the column whose heading was clicked; missing values stay last in both directions. Each body of rows is
sorted by itself, so what papers report stays below the entries."""

CARD_EXAMPLE = """name: My model
paradigm: fine-tuned
base_model: roberta-base
data: <content hash from shiftbench.json>"""

_FIGURES = {
    "ST": ("Scores (ST)", "Row: trained on. Column: tested on. Bold diagonal: in-domain."),
    "SD": ("Source drop (SD)", "SS minus ST. Red: score lost against home. Blue: gained."),
    "TD": ("Target drop (TD)", "TT minus ST. Red: the shift hurt. Blue: it helped. Same scale as SD."),
    "scenarios": (
        "Scenarios",
        "Each mark is one shift, placed by its two drops. Filled: resolved, the joint 95% region lies in one quadrant.",
    ),
    "depth": ("Depth F1", "Micro F1 weighted towards texts far from the source, as fewer source-like texts remain."),
    "missing": ("What is missing", ""),
}


def brand_html() -> Markup:
    """Give the page's head."""
    return tag(
        "header",
        tag("h1", "shiftbench"),
        tag("p", "How much accuracy NLP models lose when the text changes domain"),
        class_="sb-brand",
    )


def figure_heading(key: str) -> Markup:
    """Give the heading and caption of a figure."""
    title, caption = _FIGURES[key]
    # The three matrices stand side by side: captions of one height keep them level.
    class_ = "sb-figure sb-level" if key in ("ST", "SD", "TD") else "sb-figure"
    return tag("div", tag("h3", title), *([tag("p", caption)] if caption else []), class_=class_)


def submit_html() -> Markup:
    """Say what to submit, and how from a program."""
    return tag(
        "div",
        tag(
            "p",
            "Send one prediction file (.parquet, .jsonl or .csv) and its card. ",
            tag("b", "Check"),
            " lists every problem at once and previews the scores; nothing is stored until ",
            tag("b", "Submit"),
            ". The same file and card sent twice are one entry.",
        ),
        tag(
            "p",
            "From a terminal: ",
            tag("code", "shiftbench submit preds.parquet --card preds.card.yaml --to ADDRESS-OF-THIS-PAGE"),
        ),
        class_="sb-prose",
    )


def about_html() -> Markup:
    """Explain the measures."""
    minus, arrow = "\N{MINUS SIGN}", "\N{RIGHTWARDS ARROW}"
    terms = [
        ("Shift", f"an ordered pair source {arrow} target: trained on one domain, tested on another."),
        ("SS, TT, ST", "score in-domain on the source, in-domain on the target, and across from source to target."),
        ("SD = SS {m} ST", "source drop: what a model loses against its own home. A harder target looks like harm."),
        ("TD = TT {m} ST", "target drop: what is lost by not having trained on the target. The shift's own harm."),
        ("IDD = SS {m} TT", "how much harder the target is for models at home there; SD = TD + IDD on every shift."),
        ("Depth F1", "F1 with each target text weighted by its distance from the source's texts."),
    ]
    listed = [
        part
        for name, meaning in terms
        for part in (tag("dt", name.replace("{m}", minus)), tag("dd", meaning[0].upper() + meaning[1:]))
    ]
    return tag(
        "div",
        tag("h2", "What is measured"),
        tag("dl", *listed, class_="sb-terms"),
        tag("h2", "What is ranked"),
        tag(
            "p",
            "Entries with predictions for every shift of a task are ranked by mean ST; where models are trained on one "
            "data set (ID), by the mean over the others (OOD). Partial ones are listed "
            "below without a rank, with what they lack; a missing value is never counted as 0. Scores are computed "
            "here from the predictions, always from the whole store, so nobody's figures change because someone "
            "else submitted.",
        ),
        tag("h2", "Data on this server"),
        class_="sb-prose",
    )
