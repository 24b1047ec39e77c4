"""Next steps per domain: the step for given results, and the rate of false acceptances."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from benchmarks.gates import Texts, score_models
from shiftbench.metrics.ranking import holm
from shiftbench.scoring.scores.figures import Figure, difference
from shiftbench.scoring.scores.next_steps import Domain, Step, next_steps, texts_of_new_domain, texts_to_decide
from shiftbench.scoring.scores.shape import NextStep

MARGIN = 0.05


def scored(name: str, texts: Texts, share: float, rng: np.random.Generator) -> Figure:
    """Score a model on groups whose accuracies are drawn around the true one (beta)."""
    shares = np.full(texts.groups, share)
    if texts.correlation:
        spread = 1 / texts.correlation - 1
        shares = rng.beta(share * spread, (1 - share) * spread, texts.groups)
    right = rng.random((texts.groups, texts.size)) < shares[:, None]
    (figure,) = score_models(name, texts, right.reshape(1, -1))
    return figure


def steps(
    texts: Texts, home: float, away: dict[str, float], rng: np.random.Generator, **more: set[str]
) -> list[NextStep]:
    at_home = scored("home", texts, home, rng)
    scores = {name: scored(name, texts, share, rng) for name, share in away.items()}
    losses = {name: difference(at_home, figure) for name, figure in scores.items()}
    p = dict(zip(losses, holm([loss.p_value() for loss in losses.values()]), strict=True))
    n = texts.groups * texts.size
    domains = {name: Domain(scores[name], n, losses[name], float(p[name])) for name in losses}
    return list(next_steps(domains, margin=MARGIN, **more))


def test_each_step_follows_from_its_figures() -> None:
    rng = np.random.default_rng(0)
    away = {"alike": 0.9, "far": 0.7, "hard": 0.7, "odd": 0.7}
    found = steps(Texts(2_000), 0.9, away, rng, harder={"hard", "alike"}, doubted={"odd", "alike"})
    assert [each.step for each in found] == [Step.ACCEPT, Step.RETRAIN, Step.HARDER, Step.LOOK]
    few = steps(Texts(60), 0.9, {"alike": 0.9, "near": 0.87}, rng)
    assert {each.step for each in few} == {Step.LABEL}


def test_domains_without_a_test_are_to_be_labelled() -> None:
    score = scored("few", Texts(20), 0.8, np.random.default_rng(1))
    (found,) = next_steps({"few": Domain(score, 20, None, float("nan"))}, min_texts=30)
    assert (found.step, found.texts, found.p) == (Step.LABEL, 10, None)


def test_as_many_labels_as_are_asked_for_decide() -> None:
    """Check that about 80% of domains whose true loss is the observed one are accepted with the suggested labels."""
    rng, accepted, n_studies = np.random.default_rng(2), 0, 200
    at_home = scored("home", Texts(20_000), 0.85, rng)
    pilot = scored("away", Texts(200), 0.85, rng)
    loss = difference(at_home, pilot)
    more = texts_to_decide(Domain(pilot, 200, loss, 1.0), MARGIN)
    assert more.texts is not None
    assert not more.of_home
    truth = at_home.value - max(loss.value, 0.0)
    for _ in range(n_studies):
        loss = difference(at_home, scored("away", Texts(200 + more.texts), truth, rng))
        accepted += 1 - loss.p_above(MARGIN) < 0.05
    assert 0.7 < accepted / n_studies < 0.95


def test_an_uncertain_home_is_to_be_labelled_too() -> None:
    rng = np.random.default_rng(4)
    few, pilot = scored("home", Texts(100), 0.85, rng), scored("away", Texts(200), 0.9, rng)
    domain, home = Domain(pilot, 200, difference(few, pilot), 1.0), Domain(few, 100, None, float("nan"))
    assert texts_to_decide(domain, MARGIN) == (None, False)
    both = texts_to_decide(domain, MARGIN, home)
    assert both.of_home
    assert both.texts is not None
    here, there = (each.score.se**2 * each.n_texts / (each.n_texts + both.texts) for each in (domain, home))
    assert (norm.ppf(0.95) + norm.ppf(0.8)) * np.sqrt(here + there) == pytest.approx(MARGIN, rel=0.01)
    new = texts_of_new_domain(Domain(scored("home", Texts(4_000), 0.85, rng), 4_000, None, float("nan")), MARGIN)
    assert new.texts is not None
    assert 300 < new.texts < 400  # 0.85 (1 - 0.85) (1.64 + 0.84)^2 / 0.05^2 = 315, and what home adds
    assert texts_to_decide(domain._replace(loss=difference(pilot, pilot)), 1e-4, home).texts is None


def test_a_loss_below_the_margin_hangs_on_labels_even_where_it_is_shown() -> None:
    rng = np.random.default_rng(0)
    at_home, away = scored("home", Texts(20_000), 0.90, rng), scored("away", Texts(1_500), 0.862, rng)
    loss = difference(at_home, away)
    assert loss.low is not None
    assert 0 < loss.low < loss.value < MARGIN < (loss.high or 0)
    (step,) = next_steps({"away": Domain(away, 1_500, loss, 0.0001)}, margin=MARGIN)
    assert (step.step, step.texts is not None) == (Step.LABEL, True)


def test_nothing_is_accepted_of_a_model_at_chance() -> None:
    rng = np.random.default_rng(6)
    at_home, away = scored("home", Texts(4_000), 0.5, rng), scored("away", Texts(4_000), 0.5, rng)
    domain = Domain(away, 4_000, difference(at_home, away), 1.0)
    home = Domain(at_home, 4_000, None, float("nan"))
    assert next_steps({"away": domain}, home=home)[0].step == Step.ACCEPT
    low = home._replace(at_floor=True)
    found = next_steps({"away": domain}, home=low, unlabelled=["new"])
    assert [(each.step, each.texts) for each in found] == [(Step.LABEL, None)] * 2
    assert next_steps({"away": domain._replace(at_floor=True)}, home=home)[0].step == Step.LABEL


@pytest.mark.long
@pytest.mark.parametrize("texts", [Texts(300), Texts(100, 5, 0.2), Texts(25, 20, 0.1)])
def test_one_file_in_twenty_accepts_what_it_should_not(texts: Texts) -> None:
    """Check how many files accept at least one of 20 domains that all lose exactly the margin."""
    rng, n_files = np.random.default_rng(3), 1_000
    away = {str(number): 0.85 - MARGIN for number in range(20)}
    wrong = sum(any(each.step == Step.ACCEPT for each in steps(texts, 0.85, away, rng)) for _ in range(n_files))
    ends = binomtest(wrong, n_files).proportion_ci(0.95, method="wilson")
    rate, low, high = 100 * wrong / n_files, 100 * ends.low, 100 * ends.high
    print(f"\n{texts}: {rate:.1f}% of files accept a domain at the margin [{low:.1f}, {high:.1f}]")
    assert rate <= 5
