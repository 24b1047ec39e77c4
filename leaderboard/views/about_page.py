"""The page that says what is measured, what is ranked, and how to use the leaderboard from programs."""

from leaderboard.views.html import Markup, join, tag

_MINUS, _ARROW = "\N{MINUS SIGN}", "\N{RIGHTWARDS ARROW}"
_TERMS = (
    ("Shift", f"an ordered pair source {_ARROW} target: trained on one domain, tested on another."),
    ("SS, TT, ST", "score in-domain on the source, in-domain on the target, and across from source to target."),
    (f"SD = SS {_MINUS} ST", "source drop: what a model loses against its own home. A harder target looks like harm."),
    (
        f"TD = TT {_MINUS} ST",
        "target drop: what is lost by not having trained on the target. The shift's own harm.",
    ),
    (f"IDD = SS {_MINUS} TT", "how much harder the target is for models at home there; SD = TD + IDD on every shift."),
    ("Scenario", "Classic: both drops are losses. Observed: SD alone. Unobserved: TD alone. No Challenge: neither."),
    ("Depth F1", "F1 with each target text weighted by its distance from the source's texts; λ is the percentage of "
     "the most source-like texts left out."),
    ("Placebo", "the same task with its texts dealt at random into as many equal domains: what a drop is without any "
     "shift."),
)  # fmt: skip
_TRUST = (
    ("Intervals", "scores and drops stand with 95% intervals over other test texts (whole groups are drawn again); "
     "with five or more runs a source, one over training runs as well."),
    ("Ranks", "entries that cover every shift of a task are ranked by mean ST, or by the mean over the other data sets "
     "(OOD) where models are trained on one (ID). A rank's interval says which entries cannot be told apart."),
    ("Partial entries", "are listed without a rank, with what they lack; a missing value is never counted as 0."),
    ("Nobody's score changes because someone else submits", "scores are computed here from each entry's predictions "
     "alone, and again for all entries when a metric changes."),
    ("Same file and card twice", "are one entry. Repeated, missing and foreign ids are refused, not scored around."),
    ("Withheld labels", "where test labels are withheld, scores are rounded, small slices are hidden, and each entry "
     "says how often its submitter has looked."),
)  # fmt: skip
_PROGRAM = """from gradio_client import Client, handle_file

board = Client("ADDRESS-OF-THIS-PAGE")
names = board.predict(api_name="/boards")
board.predict(names[0], api_name="/board")
board.predict(handle_file("preds.parquet"), open("preds.card.yaml").read(), api_name="/check")"""


def about_page() -> Markup:
    """Explain measures, ranks and endpoints."""
    return tag(
        "div",
        tag("h1", "About"),
        tag("h2", "What is measured"),
        _terms(_TERMS),
        tag("h2", "What you can trust"),
        _terms(_TRUST),
        tag("h2", "From a terminal"),
        tag(
            "pre", "shiftbench submit preds.parquet --card preds.card.yaml --to ADDRESS-OF-THIS-PAGE", class_="sb-code"
        ),
        tag("h2", "From a program"),
        tag("pre", _PROGRAM, class_="sb-code"),
        tag(
            "p",
            "All endpoints, with types and examples: ",
            tag("a", "OpenAPI", href="/gradio_api/openapi.json"),
            ", or 'Use via API' on the Submit page. Programs that speak the Model Context Protocol find the same at ",
            tag("code", "/gradio_api/mcp/"),
            ".",
        ),
        class_="sb-prose",
    )


def _terms(terms: tuple[tuple[str, str], ...]) -> Markup:
    parts = join(join([tag("dt", name), tag("dd", meaning[0].upper() + meaning[1:])]) for name, meaning in terms)
    return tag("dl", parts, class_="sb-terms")
