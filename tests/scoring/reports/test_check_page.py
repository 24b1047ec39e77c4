"""The report of one model's scores by domain: order of statements, omitted statements, and no user markup."""

from syrupy.assertion import SnapshotAssertion

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


def test_the_headline_says_what_is_shown_and_no_more(wording: SnapshotAssertion) -> None:
    messages = {
        "loss": headline(check()),
        "no significant loss": headline(check(bounded(0.02))),
        "gain": headline(check(bounded(-0.09))),
        "no interval": headline(check(Estimate(value=0.07, no_interval=Reason.FEW_GROUPS))),
        "no domain with enough texts": headline(check(mean=None)),
        "spread": sentence("check", "spread", check().spread),
    }
    assert messages == wording


def explain(found: ExplainedDomain) -> str:
    (line,) = explained_lines(check(explained=(found,)))
    return line


def test_verdicts_name_what_difficulty_does_not_explain(wording: SnapshotAssertion) -> None:
    shares = explained("cannot tell", bounded(0.01), "the verdict changes under the source's class prior")
    both = {"as_is": "harder", "at_home_shares": "cannot tell", "at_home_shares_reason": "no loss"}
    no_probe = explained("cannot tell", bounded(0.09), "a probe is not shown to be above chance")
    messages = {
        "shifted": explain(explained("shifted", Estimate(value=0.09, low=0.04, high=0.14))),
        "harder": explain(explained("harder", Estimate(value=0.01, low=-0.03, high=0.05))),
        "unknown": explain(no_probe),
        "class shares hide it": explain(shares.model_copy(update=both)),
        "class shares change it": explain(shares.model_copy(update={"as_is": "both", "at_home_shares": "shifted"})),
    }
    assert messages == wording


def test_only_what_holds_up_for_all_domains_together_is_listed(wording: SnapshotAssertion) -> None:
    gained = check(domains=(domain("books", 0.9), domain("music", 0.95, p=0.003)))
    assert [list(difference_lines(each)) for each in (check(), gained)] == wording


def test_a_row_says_why_a_domain_has_no_interval(wording: SnapshotAssertion) -> None:
    unknown = domain("dvd", 0.8).model_copy(update={"score": Estimate(value=0.8, no_interval=Reason.FEW_GROUPS)})
    lines = check_lines(check(domains=(domain("books", 0.9), unknown, domain("tiny", 1, few=True))))
    (table,) = [line for line in lines if isinstance(line, PlainTable)]
    assert [row[-1] for row in table.rows] == wording


def test_what_was_left_out_is_named(wording: SnapshotAssertion) -> None:
    leaks = Leaks(n_train=1200, exact={"dvd": 3}, near={"dvd": 1, "toys": 2})
    found = check(leaks=leaks, without_probe={"tiny": "4 texts to train on, fewer than 100"})
    assert sentences("check", "left_out", found) == wording


def test_the_picture_has_a_row_a_domain_and_marks_the_source() -> None:
    drawn = str(scores_by_domain(check().domains[:3], "books"))
    assert drawn.count('class="sb-row-name"') == 3
    assert "source" in drawn
    assert "home" not in str(scores_by_domain(check().domains[:3], None))


def test_the_page_shows_names_as_text_and_a_tiny_domain_in_the_table_alone(
    synthetic: DatasetFolder, predictions: object, wording: SnapshotAssertion
) -> None:
    task = scored_elsewhere(synthetic, predictions).tasks[0]
    found = check(model=SCRIPT, explained=(explained("shifted", bounded(0.09)),))
    page = check_html(CheckShown(found, "mine.csv", synthetic, task, warnings=(f"labels look permuted {SCRIPT}",)))
    assert SCRIPT not in page
    assert Visible(page).lines == wording
    assert page.count('class="sb-row-name"') == 3


def steps_of(*steps: NextStep, **more: object) -> DomainCheck:
    found = check(bounded(0.065, 0.02), home="books", margin=0.05, steps=steps, **more)
    return with_evidence(found, lambda step: f"do <{step.domain}>")


def test_what_to_do_comes_after_the_verdict_with_its_evidence_and_command(
    synthetic: DatasetFolder, predictions: object, wording: SnapshotAssertion
) -> None:
    rows = tuple(f"r{number}" for number in range(7))
    found = steps_of(
        NextStep(domain="dvd", step=Step.LOOK, p=0.001, rows=rows),
        NextStep(domain="toys", step=Step.ACCEPT, p=0.03),
        NextStep(domain="new", step=Step.LABEL, texts=1_200, of_home=True),
    )
    assert [str(line) for line in check_lines(found)][:8] == wording
    task = scored_elsewhere(synthetic, predictions).tasks[0]
    page = check_html(CheckShown(found, "mine.csv", synthetic, task))
    assert "<code>do &lt;toys&gt;</code>" in page


def test_a_gain_is_not_called_a_small_loss(wording: SnapshotAssertion) -> None:
    gained = domain("toys", 0.89, p=0.001).model_copy(update={"difference": bounded(-0.25)})
    found = steps_of(NextStep(domain="toys", step=Step.ACCEPT, p=0.001), domains=(domain("books", 0.9), gained))
    against_rest = gained.model_copy(update={"difference": bounded(0.25)})
    rest = steps_of(
        NextStep(domain="toys", step=Step.ACCEPT, p=0.001), domains=(domain("books", 0.9), against_rest), mean_drop=None
    )
    assert [each.steps[0].evidence for each in (found, rest)] == wording


def test_where_nothing_can_be_decided_the_first_line_says_so(wording: SnapshotAssertion) -> None:
    found = steps_of(NextStep(domain="toys", step=Step.LABEL, texts=300))
    low = [each.model_copy(update={"at_floor": True}) for each in check().domains]
    lost = steps_of(NextStep(domain="toys", step=Step.LABEL), domains=tuple(low))
    assert [[str(line) for line in check_lines(each)][:5] for each in (found, lost)] == wording


def test_who_loses_says_what_the_probes_know(wording: SnapshotAssertion) -> None:
    step = NextStep(domain="dvd", step=Step.RETRAIN, p=0.001)
    probe = ProbeScores(
        name="TF", n_train=9, scores={}, reference_td={"dvd": bounded(0.06), "toys": bounded(0.02)}, at_floor=()
    )

    def evidence(**more: object) -> str:
        return steps_of(step, **more).steps[0].evidence

    messages = {
        "no probe": evidence(),
        "explained": evidence(explained=(explained("shifted", bounded(0.09)),)),
        "unknown": evidence(explained=(explained("cannot tell", bounded(0.01), "it is so"),)),
        "a probe trained on it": evidence(probes=(probe,)),
    }
    assert messages == wording
