"""Discovered slices: sentences, terminal output, and the section of a check's report."""

from collections.abc import Iterator

from shiftbench.scoring.reports.frame.parts import Section
from shiftbench.scoring.reports.numbers import MINUS, metric_name, p_words, plain_points, plain_score
from shiftbench.scoring.reports.pictures.rows import scores_by_slice
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.shape import Slice, SlicesFound
from shiftbench.validation.report import counted

_ABOUT = (
    "Values of other columns, lengths, languages and clusters of texts were chosen without labels or predictions, and "
    "tested on all texts. Rules marked 'searched' were looked for where the model errs in one half of the groups, and "
    "tested on the other half. One correction (Holm) holds for all; near-duplicates count as one group. What is mostly "
    "the same texts again is left out, as are slices above the rest where one is below. Scores are means over texts. A "
    "slice says where scores differ, not why; labels of new texts of it show whether it lasts."
)


def slice_lines(found: SlicesFound | None) -> Iterator[str]:
    """List the significant slices, the most significant first; nothing if no search was made."""
    if found is None:
        return
    measure = metric_name(found.measure)
    if found.reason is not None:
        yield f"No slice was looked for: {found.reason}."
        return
    looked = f"{found.n_candidates:,} candidates on {counted(found.n, 'text')}, and rules of a search for errors"
    if not found.slices:
        yield (
            f"No slice is shown to score differently from the rest ({looked}; {measure} {plain_score(found.score)} "
            f"over all; 5% for all together, by Holm's correction){_missed(found)}"
        )
        return
    first, *others = found.slices
    yield f"{_apart_words(first, found)}."
    if others:
        differ = "differs" if len(others) == 1 else "differ"
        yield f"{counted(len(others), 'further slice')} {differ}, as the table shows."
    yield f"Looked at: {looked} (5% for all together, by Holm's correction){_missed(found)}"


def _missed(found: SlicesFound) -> str:
    if found.detectable is None:
        return "."
    low, high = (plain_points(each) for each in found.detectable)
    reach = f"{low} points" if low == high else f"{low} to {high} points, by slice,"
    return f"; true differences below {reach} are missed in more than one study of five."


def _apart_words(found: Slice, all_of: SlicesFound) -> str:
    """Write how a slice differs from the rest, in a sentence without its full stop."""
    way = "lower" if (found.difference.value or 0.0) < 0 else "higher"
    low, high = sorted(abs(end) for end in (found.difference.low or 0.0, found.difference.high or 0.0))
    size = f"{plain_points(abs(found.difference.value or 0.0))} points [{plain_points(low)}, {plain_points(high)}]"
    measure = metric_name(all_of.measure)
    tested = "" if found.n_tested is None else f" ({found.n_tested:,} of them tested)"
    mostly = f", mostly of {found.domain}" if found.domain else ""
    return (
        f"Scores {size} {way} on {found.name} than on the rest: {measure} {plain_score(found.score)} on {found.n:,} of "
        f"{counted(all_of.n, 'text')}{tested}{mostly} (p {p_words(found.p)})"
    )


def slice_table(found: SlicesFound) -> PlainTable:
    """Build the table of slices, compared with the rest of the texts."""
    head = ("slice", "texts", metric_name(found.measure), "against the rest", "p", "most typical words")
    meanings = {
        "against the rest": f"score {MINUS} score of all other texts; the interval is of this slice alone",
        "p": "that there is no difference, corrected over all that were looked at (Holm)",
    }
    rows = []
    for each in found.slices:
        texts = f"{each.n:,}" if each.n_tested is None else f"{each.n:,} ({each.n_tested:,} tested)"
        name = f"{each.name}, mostly {each.domain}" if each.domain else each.name
        figures = plain_score(each.score), plain_score(each.difference), p_words(each.p)
        rows.append([name, texts, *figures, ", ".join(each.words)])
    title = "Slices that score differently from the rest, in points"
    return PlainTable(title, head, rows, texts=("most typical words",), meanings=meanings)


def slice_section(found: SlicesFound) -> Section:
    """Build the report's section: a plot of slices and the rest, the table, and typical texts."""
    title = f"Slices that no column names ({metric_name(found.measure)})"
    if not found.slices:
        return Section(title, _ABOUT, lines=list(slice_lines(found)))
    samples = [(each.name, "", each.texts) for each in found.slices]
    return Section(title, _ABOUT, figures=[scores_by_slice(found)], tables=[slice_table(found)], samples=samples)
