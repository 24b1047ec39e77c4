"""The report of one model's scores by domain: order of statements, omitted statements, and no user markup."""

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.check import (
    CheckShown,
    check_html,
    check_lines,
    difference_lines,
    explained_lines,
    headline,
    with_evidence,
)
from shiftbench.scoring.reports.frame.sentences import sentence, sentences
from shiftbench.scoring.reports.pictures.rows import scores_by_domain
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.figures import Reason
from shiftbench.scoring.scores.next_steps import Step
from shiftbench.scoring.scores.shape import (
    DomainCheck,
    DomainScore,
    DomainSpread,
    Estimate,
    ExplainedDomain,
    FloorLevels,
    Leaks,
    NextStep,
    ProbeScores,
)
from tests.leaderboard.conftest import SCRIPT, Visible
from tests.leaderboard.pages.test_trained_elsewhere import predictions, scored_elsewhere

__all__ = ["predictions"]

FLOOR = FloorLevels(chance=0.5, majority=0.4)


def bounded(value: float, reach: float = 0.05) -> Estimate:
    return Estimate(value=value, low=value - reach, high=value + reach)


def domain(name: str, score: float, p: float | None = None, few: bool = False) -> DomainScore:
    difference = bounded(0.9 - score) if p is not None else None
    return DomainScore(
        domain=name, n=5 if few else 500, has_few_texts=few, score=bounded(score), floor=FLOOR, at_floor=False,
        unparsed=0.0, difference=difference, p=p, detectable=0.07 if p is not None else None,
    )  # fmt: skip


def explained(verdict: str, rest: Estimate, reason: str | None = None) -> ExplainedDomain:
    return ExplainedDomain(
        domain="dvd", drop=bounded(0.12), difficulty=bounded(0.03), rest=rest, difficulties={"a": bounded(0.03)},
        verdict=verdict, reason=reason,
    )  # fmt: skip


def check(drop: Estimate | None = None, **more: object) -> DomainCheck:
    domains = (
        domain("books", 0.9),
        domain("dvd", 0.78, p=0.001),
        domain("toys", 0.89, p=0.8),
        domain("tiny", 1, few=True),
    )
    spread = DomainSpread(
        highest="books", lowest="dvd", range=0.12, observed=0.066, by_chance=0.02, beyond_chance=0.063
    )
    facts = {
        "model": "m", "task": "own", "metric": "macro_f1", "home": "books", "min_texts": 30, "few_texts": {"tiny": 5},
        "domains": domains, "mean": bounded(0.86), "mean_drop": drop or bounded(0.065), "spread": spread,
    }  # fmt: skip
    return DomainCheck.model_validate(facts | more)


def test_the_headline_says_what_is_shown_and_no_more() -> None:
    assert headline(check()).startswith("Loses 6.5 [1.5, 11.5] points on average outside 'books'; lowest: dvd (78.0")
    assert headline(check(bounded(0.02))).startswith("No significant loss outside 'books': 2.0 [-3.0, 7.0]")
    assert headline(check(bounded(-0.09))).startswith("Scores higher outside 'books', by 9.0 [4.0, 14.0] points")
    unknown = headline(check(Estimate(value=0.07, no_interval=Reason.FEW_GROUPS)))
    assert unknown.startswith(
        "Drop outside 'books': +7.0 points, without an interval (fewer than 5 effective groups), so neither"
    )
    assert "over 3 domains" in headline(check())
    few = headline(check(mean=None))
    assert few == "No domain has 30 test texts, so there is no mean (--min-texts sets the minimum)."
    assert "about 6.3" in sentence("check", "spread", check().spread)


def explain(found: ExplainedDomain) -> str:
    (line,) = explained_lines(check(explained=(found,)))
    return line


def test_verdicts_name_what_difficulty_does_not_explain() -> None:
    shifted = explain(explained("shifted", Estimate(value=0.09, low=0.04, high=0.14)))
    assert (
        shifted
        == "dvd: shifted: of 12 points [7, 17] lost, 9 points [4, 14] not explained by difficulty for these probes."
    )
    harder = explain(explained("harder", Estimate(value=0.01, low=-0.03, high=0.05)))
    assert "the probes lose 3 points [-2, 8] too; 1 point [-3, 5] not explained" in harder
    unknown = explain(explained("cannot tell", bounded(0.09), "a probe is not shown to be above chance"))
    assert unknown.startswith("dvd: cannot tell: a probe is not shown to be above chance (of 12 points")


def test_verdicts_that_class_shares_change_are_both_named() -> None:
    found = explained("cannot tell", bounded(0.01), "the verdict changes under the source's class prior")
    both = {"as_is": "harder", "at_home_shares": "cannot tell", "at_home_shares_reason": "no loss"}
    line = explain(found.model_copy(update=both))
    assert line.startswith(
        "dvd: cannot tell: harder as observed, but under the source's class prior cannot tell (no loss) (of 12"
    )
    line = explain(found.model_copy(update={"as_is": "both", "at_home_shares": "shifted"}))
    assert "cannot tell: harder and shifted as observed, but under the source's class prior shifted (of 12" in line


def test_only_what_holds_up_for_all_domains_together_is_listed() -> None:
    first, listed, smallest = difference_lines(check())
    assert isinstance(first, str)
    assert first.startswith("1 of 2 differences between domains are significant (loss against the source ('books')")
    assert "intervals are uncorrected" in first
    assert listed == ["dvd: loses 12.0 [7.0, 17.0] points (p 0.001)"]
    assert isinstance(smallest, str)
    assert "below 7.0 points" in smallest


def test_a_domain_that_is_better_than_home_gains() -> None:
    gained = domain("music", 0.95, p=0.003)
    _, listed, _ = difference_lines(check(domains=(domain("books", 0.9), gained)))
    assert listed == ["music: gains 5.0 [0.0, 10.0] points (p 0.003)"]


def test_a_row_says_why_a_domain_has_no_interval() -> None:
    unknown = domain("dvd", 0.8).model_copy(update={"score": Estimate(value=0.8, no_interval=Reason.FEW_GROUPS)})
    lines = check_lines(check(domains=(domain("books", 0.9), unknown, domain("tiny", 1, few=True))))
    (table,) = [line for line in lines if isinstance(line, PlainTable)]
    assert [row[-1] for row in table.rows] == [
        "home",
        "no interval: fewer than 5 effective groups",
        "too few texts: excluded",
    ]


def test_what_was_left_out_is_named() -> None:
    leaks = Leaks(n_train=1200, exact={"dvd": 3}, near={"dvd": 1, "toys": 2})
    lines = sentences(
        "check", "left_out", check(leaks=leaks, without_probe={"tiny": "4 texts to train on, fewer than 100"})
    )
    assert lines[0].startswith("tiny: 5 test texts, fewer than 30 (--min-texts)")
    assert lines[1].endswith("duplicates of the 1,200 training texts: 3 exact, 3 near (dvd 4, toys 2)")
    assert lines[2] == "tiny: no probe: 4 texts to train on, fewer than 100"


def test_the_picture_has_a_row_a_domain_and_marks_home() -> None:
    drawn = str(scores_by_domain(check().domains[:3], "books"))
    assert drawn.count('class="sb-row-name"') == 3
    assert "home" in drawn
    assert "home" not in str(scores_by_domain(check().domains[:3], None))


def test_the_page_shows_names_as_text_and_a_tiny_domain_in_the_table_alone(
    synthetic: DatasetFolder, predictions: object
) -> None:
    task = scored_elsewhere(synthetic, predictions).tasks[0]
    found = check(model=SCRIPT, explained=(explained("shifted", bounded(0.09)),))
    page = check_html(CheckShown(found, "mine.csv", synthetic, task, warnings=(f"labels look mixed up {SCRIPT}",)))
    assert SCRIPT not in page
    text = Visible(page).text
    assert text.index("Loses 6.5") < text.index("trained on each of these domains are unknown")
    assert "labels look mixed up" in text
    assert "too few texts: excluded" in text
    assert page.count('class="sb-row-name"') == 3
    assert "Made with shiftbench check." in text


def steps_of(*steps: NextStep, **more: object) -> DomainCheck:
    found = check(bounded(0.065, 0.02), home="books", margin=0.05, steps=steps, **more)
    return with_evidence(found, lambda step: f"do <{step.domain}>")


def test_what_to_do_comes_after_the_verdict_with_its_evidence_and_command(
    synthetic: DatasetFolder, predictions: object
) -> None:
    rows = tuple(f"r{number}" for number in range(7))
    found = steps_of(
        NextStep(domain="dvd", step=Step.LOOK, p=0.001, rows=rows),
        NextStep(domain="toys", step=Step.ACCEPT, p=0.03),
        NextStep(domain="new", step=Step.LABEL, texts=1_200, of_home=True),
    )
    first, what, *rest = map(str, check_lines(found))
    assert first.startswith("Loses 6.5")
    assert what == "Recommendations, at a margin of 5 points:"
    words = "accept: loses 1.0 [-4.0, 6.0] points, significantly less than 5 points (p 0.030); it may lose up to 6.0"
    assert rest[0] == f"  toys: {words}"
    assert rest[1] == "    do <toys>"
    assert rest[2].startswith("  new: label 1,200 more, and as many of books: no text is labelled")
    assert "all probes make most of the same errors: rows r0, r1, r2, r3, r4, ..." in rest[4]
    task = scored_elsewhere(synthetic, predictions).tasks[0]
    page = check_html(CheckShown(found, "mine.csv", synthetic, task))
    assert "<code>do &lt;toys&gt;</code>" in page
    text = Visible(page).text
    assert text.index("Loses 6.5") < text.index("it may lose up to 6.0") < text.index("Score by domain")


def test_where_nothing_can_be_decided_the_first_line_says_so() -> None:
    found = steps_of(NextStep(domain="toys", step=Step.LABEL, texts=300))
    lines = [str(line) for line in check_lines(found)]
    assert lines[0].startswith("Nothing can be decided yet: no domain loses significantly less than 5 points")
    assert lines[2].startswith(
        "  toys: label 300 more: loses 1.0 [-4.0, 6.0] points: not shown to be less than 5 points"
    )
    assert lines[4].startswith("Loses 6.5")
    low = [each.model_copy(update={"at_floor": True}) for each in check().domains]
    lost = steps_of(NextStep(domain="toys", step=Step.LABEL), domains=tuple(low))
    assert "in-domain score ('books')" in str(next(iter(check_lines(lost))))


def test_who_loses_says_what_the_probes_know() -> None:
    step = NextStep(domain="dvd", step=Step.RETRAIN, p=0.001)

    def evidence(**more: object) -> str:
        return steps_of(step, **more).steps[0].evidence

    assert "no probe was trained on it" in evidence()
    assert "9 points [4, 14] of it not explained" in evidence(explained=(explained("shifted", bounded(0.09)),))
    unknown = explained("cannot tell", bounded(0.01), "it is so")
    assert "probes do not show whether any model would lose it (it is so)" in evidence(explained=(unknown,))
    probe = ProbeScores(
        name="TF", n_train=9, scores={}, reference_td={"dvd": bounded(0.06), "toys": bounded(0.02)}, at_floor=()
    )
    assert "trained on it (TF) scores 6.0 [1.0, 11.0] points more" in evidence(probes=(probe,))
