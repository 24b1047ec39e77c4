"""Pages of the site that are made from the code: commands, Python names, metrics, JSON schemas, the papers' rows.

mkdocs calls ``on_files`` before it reads the navigation, so that these pages are linked and searched as all others.
"""

import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parents[2]))

import shiftbench as sb
from shiftbench.baselines.grid.stored import read_results
from shiftbench.baselines.models.settings import SETTINGS, setting_values
from shiftbench.baselines.results import papers
from shiftbench.baselines.robust.method import METHODS, method_class, strengths_of
from shiftbench.builders.building.build import BENCHMARKS
from shiftbench.builders.folder.manifest import Manifest
from shiftbench.cli.help import EXIT_CODES
from shiftbench.notebook.tables import COMPARISON_TABLES, SCORE_TABLES
from shiftbench.scoring.comparing.shape import Comparison
from shiftbench.scoring.papers.analysis.figures import FIGURES
from shiftbench.scoring.scores.shape import DomainCheck, Scores, Shift, TaskScores
from shiftbench.validation.cards import Card
from tests.listed_options import listed_commands

SCHEMAS = {
    "card": (Card, "The card of a prediction file (YAML)."),
    "scores": (Scores, "What `score --json` writes."),
    "comparisons": (Comparison, "One of the `comparisons` that `compare --json` writes."),
    "manifest": (Manifest, "`shiftbench.json` of a dataset folder."),
}
"""Shapes that other programs read or write: the model, and which file has it."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and the schemas as files."""
    made = {**command_pages(), "python.md": python_page(), "metrics.md": metrics_page(), "schemas.md": schema_page()}
    made |= {"papers.md": papers_page(), "results.md": results_page(), "model-settings.md": settings_page()}
    made |= {"tasks.md": tasks_page(), "methods.md": methods_page()}
    made |= {"figures.md": figures_page(), "tables.md": tables_page()}
    made |= {f"schemas/{name}.json": _schema(model) for name, (model, _) in SCHEMAS.items()}
    for name, content in made.items():
        files.append(File.generated(config, f"reference/{name}", content=content))
    return files


def command_pages() -> dict[str, str]:
    """Format a page for each command of the program, and for each group, and the page that lists them."""
    pages: dict[str, list[str]] = {}
    rows = ["# Commands", "", "| command | does |", "|---|---|"]
    for words, command, _ in listed_commands():
        top = words.split()[0]
        about = _cell(command.get_short_help_str(200))
        rows.append(f"| [`{words}`]({top}.md#shiftbench-{words.replace(' ', '-')}) | {about} |")
        pages.setdefault(top, [f"# {top}", ""]).extend(_command(words, command))
    rows += ["", "Exit codes: " + "; ".join(f"`{code}` {what}" for code, what in EXIT_CODES) + ".", ""]
    return {"commands/index.md": "\n".join(rows)} | {
        f"commands/{top}.md": "\n".join(page) for top, page in pages.items()
    }


def _command(words: str, command: Any) -> Iterator[str]:
    """Format the section of a command: what its help says, and a table of arguments and options."""
    context = typer.Context(command, info_name=f"shiftbench {words}")
    yield from (f"## shiftbench {words}", "", *_paragraphs(inspect.cleandoc(command.help or "")), "")
    records = [(param, param.get_help_record(context)) for param in command.params]
    shown = [(getattr(param, "rich_help_panel", None) or "", *record) for param, record in records if record]
    if shown:
        yield from ("| option | effect | |", "|---|---|---|")
        yield from (f"| `{name}` | {_cell(about)} | {panel} |" for panel, name, about in shown)
    yield ""


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        words = " ".join(paragraph.split())
        example = words.removeprefix("Example: ")
        yield from (["", "```", example, "```"] if example != words else ["", _escape(words)])


def _cell(text: str) -> str:
    return _escape(" ".join(text.split())).replace("|", "\\|")


def _escape(text: str) -> str:
    """Escape what Markdown would read as markup in a help text."""
    for sign in "\\*_<[]":
        text = text.replace(sign, f"\\{sign}")
    return text


def _path(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def python_page() -> str:
    """Format the page of the names that ``import shiftbench`` has, functions first, from their docstrings."""
    values = {name: getattr(sb, name) for name in sb.__all__}
    functions = [name for name, value in values.items() if inspect.isfunction(value)]
    classes = [name for name, value in values.items() if inspect.isclass(value)]
    blocks = [f"::: {_path(values[name])}\n" for name in (*functions, *classes)]
    about = "`import shiftbench as sb`; nothing heavy is loaded until a name is used. Fractions, not points."
    return "\n".join(["# Python", "", about, "", *blocks])


def metrics_page() -> str:
    """Format the page of the pure functions below ``shiftbench.metrics``."""
    paths = [_path(getattr(sb.metrics, name)) for name in sb.metrics.__all__]
    return "\n".join(
        ["# Metric functions", "", "Arrays in, numbers out: `sb.metrics.NAME`.", "", *(f"::: {p}\n" for p in paths)]
    )


def _schema(model: Any) -> str:
    return json.dumps(model.model_json_schema(), indent=1)


def schema_page() -> str:
    """Format the page of the JSON schemas: where each is, and a table of its outermost fields."""
    lines = ["# JSON schemas", ""]
    for name, (model, about) in SCHEMAS.items():
        lines += [f"## {name}", "", f"{about} [Whole schema](schemas/{name}.json).", "", *_fields(model)]
    for title, model in (("tasks[]", TaskScores), ("tasks[].shifts[]", Shift)):
        lines += [f"### scores: {title}", "", *_fields(model)]
    lines += ["## check", "", "What `check --json` writes.", "", *_fields(DomainCheck)]
    return "\n".join(lines)


def _fields(model: Any) -> Iterator[str]:
    yield from ("| field | type | |", "|---|---|---|")
    for name, field in model.model_fields.items():
        kind = field.annotation if isinstance(field.annotation, str) else _type(field.annotation)
        needed = "" if not field.is_required() else "required. "
        yield f"| `{name}` | {_cell(kind)} | {needed}{_cell(field.description or '')} |"
    yield ""


def _type(annotation: Any) -> str:
    text = (
        annotation.__name__
        if inspect.isclass(annotation) and not getattr(annotation, "__args__", ())
        else str(annotation)
    )
    for place in ("typing.", "shiftbench.scoring.scores.shape.", "shiftbench.validation.versions.", "NoneType"):
        text = text.replace(place, "None" if place == "NoneType" else "")
    return text.rpartition(".")[2] if text.startswith("shiftbench.") else text


def papers_page() -> str:
    """Format every table and figure of the three papers: whether it can be computed here, and our result beside it."""
    lines = ["# The papers, row by row", "", "`shiftbench study reproduce ROW` computes one.", ""]
    lines += [papers.markdown(papers.state_rows(), figures=()), ""]
    for title, rows in papers.paper_tables():
        lines += [f"## {title}", "", papers.markdown(rows), ""]
    return "\n".join(lines)


def results_page() -> str:
    """Format the reference results: a table a board and task, in points with 95% intervals, from the kept scores."""
    lines = ["# Reference results", "", "Points, with 95% intervals over other test texts.", ""]
    for board in sorted(file.parent for file in papers.RESULTS.glob("*/records.jsonl")):
        tables: dict[tuple[str, tuple[str, ...]], list[list[str]]] = {}
        for name, result in read_results(board).items():
            task = result.scores["tasks"][0]
            figures = {title: papers.points(score) for title, score in _kept_figures(task).items()}
            tables.setdefault((task["task"], tuple(figures)), []).append([f"`{name}`", *figures.values()])
        for (task, titles), rows in tables.items():
            header = ["result", *titles]
            table = papers.markdown([header, *rows], figures=range(1, len(header)))
            lines += [f"## {board.name}: {task}", "", table, ""]
    return "\n".join(lines)


def _kept_figures(task: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a kept result by title: of an ID domain and its OOD ones, or else over all shifts."""
    summary, one = task["summary"], task["id_ood"]
    if one:
        ood = {f"{name} (OOD)": score for name, score in one["ood"].items()}
        return {f"{one['id_domain']} (ID)": one["id"], **ood, "mean OOD": one["mean_ood"], "ID - mean OOD": one["drop"]}
    names = {"mean SS": "mean_ss", "mean ST": "mean_st", "average drop": "average_drop", "worst SD": "worst_sd"}
    depth = {f"DF1@{level}": score for level, score in summary["depth_f1"].items()}
    figures = {**{title: summary[key] for title, key in names.items()}, "worst TD": summary["worst_td"], **depth}
    return {title: score for title, score in figures.items() if score and score["value"] is not None}


def settings_page() -> str:
    """Format the settings of a model."""
    rows = [("setting", "value", "read by", "meaning")]
    for name, each in SETTINGS.items():
        rows.append((f"`{name}`", setting_values(name), each.metadata["read_by"], each.metadata["about"]))
    about = "`--model-arg NAME=VALUE` of `predict` and `check`."
    return "\n".join(["# Settings of a model", "", about, "", papers.markdown(rows, figures=()), ""])


def tasks_page() -> str:
    """Format the tasks of the papers' benchmarks: what is predicted, from which domains, and whose texts these are."""
    lines = ["# Tasks and domains", "", "`shiftbench build list` prints the domains, one a line.", ""]
    for name, (title, tasks) in BENCHMARKS.items():
        rows = [("task", "what", "metric", "domains", "folders under RAW", "may be published")]
        for task in tasks:
            sources = {source.slug: source.open_licence for domain in task.domains for source in domain.sources}
            domains = ", ".join(f"{d.name} (ID)" if d.name == task.id_domain else d.name for d in task.domains)
            is_open = [slug for slug, is_open in sources.items() if is_open]
            may = "yes" if len(is_open) == len(sources) else ", ".join(is_open) or "no"
            rows.append((f"`{task.name}`", task.title, task.metric, domains, ", ".join(sources), may))
        lines += [f"## {title} (`{name}`)", "", papers.markdown(rows, figures=()), ""]
    return "\n".join(lines)


def methods_page() -> str:
    """Format the robustness methods, and their strengths: default, the papers' values, what a search draws."""
    methods, strengths = [("`--method`", "what it does")], [("strength", "default", "paper", "a search draws")]
    for name in METHODS:
        about = inspect.cleandoc(method_class(name).__doc__ or "").partition("\n")[0]
        methods.append((f"`{name}`", _cell(about)))
        for key, each in strengths_of(method_class(name)).items():
            draws = "-" if each.metadata["draws"] is None else "{:g} to {:g}".format(*each.metadata["draws"])
            strengths.append((f"`{name}.{key}`", f"{each.default:g}", each.metadata["paper"], draws))
    lines = ["# Robustness methods", "", papers.markdown(methods, figures=()), "", "## Strengths", ""]
    lines += ["`--set METHOD.NAME=VALUE` sets one; the record of the training and the card have it.", ""]
    return "\n".join([*lines, papers.markdown(strengths, figures=()), ""])


def figures_page() -> str:
    """Format the figures that ``study analyse`` draws."""
    rows = [("figure", "in the papers", "what it finds")]
    for each in FIGURES:
        find = getattr(each.find, "func", each.find)
        varied = getattr(each.find, "keywords", {}).get("key")
        about = inspect.cleandoc(find.__doc__ or "").partition("\n")[0]
        rows.append((f"`{each.name}`", each.paper, f"Scores and drops over `{varied}`." if varied else _cell(about)))
    about = "`shiftbench study analyse FILE... --figure NAME`: a PNG in points and a CSV in fractions."
    return "\n".join(["# The papers' figures", "", about, "", papers.markdown(rows, figures=()), ""])


def tables_page() -> str:
    """Format the tables of results in a notebook, with their columns."""
    about = (
        "`scores.table(NAME)` and `comparison.table(NAME)`: polars, fractions; `_low` and `_high` end a 95% interval."
    )
    rows = [("table", "of", "columns")]
    for kind, tables in (("scores", SCORE_TABLES), ("comparison", COMPARISON_TABLES)):
        rows += [(f"`{name}`", kind, ", ".join(f"`{column}`" for column in table[0])) for name, table in tables.items()]
    return "\n".join(["# Tables of results", "", about, "", papers.markdown(rows, figures=()), ""])
