"""Schema of scores: the output of ``shiftbench score --json`` and the board's data, stable for other programs.

Values are fractions, unrounded. ``low`` and ``high`` are the 95% test-sampling interval (other test sets, the same
trained models). They are null if none is defined, as for extremes and spreads over shifts, and if none would be valid:
``no_interval`` then states why (see ``shiftbench.scoring.scores.figures.Reason``). Worst drops have the simultaneous
interval over all shifts, which is wider than the worst shift's own. ``total`` has, by figure, the interval that
includes training variance; it is empty if a source has fewer than 5 runs, since training variance is then not measured.
A value that is undefined, or whose predictions are missing, is null; ``missing`` lists what is missing.

``DomainCheck`` is the schema of ``shiftbench check``'s results for one model: its scores by domain, and conclusions.
"""

from typing import Any

import pydantic

from shiftbench.validation.versions import DataVersion
from shiftbench.validation.vocabulary import ELSEWHERE, NO_SOURCE


class Record(pydantic.BaseModel):
    """Base class of the score schema: frozen, no extra fields."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Estimate(Record):
    """A value and the ends of its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    no_interval: str | None = pydantic.Field(
        default=None, description="Why there is no interval, if scores of this kind have one"
    )


class Interval(Record):
    """The ends of a 95% interval."""

    low: float
    high: float


Total = dict[str, Interval]
"""Intervals that include training variance, by figure."""


class ConfidenceFigures(Record):
    """Calibration metrics, and metrics of ranking by confidence."""

    overconfidence: Estimate = pydantic.Field(description="Mean confidence minus accuracy")
    calibration_error: Estimate = pydantic.Field(
        description="Squared, over equal-mass bins, debiased, so it can be below 0 by chance"
    )
    brier: Estimate
    failure_auroc: Estimate = pydantic.Field(
        description="Probability that a correct prediction has more confidence than a wrong one"
    )
    excess_aurc: Estimate = pydantic.Field(
        description="Area under the risk-coverage curve, in excess of the optimal order's"
    )


class LabelShift(Record):
    """TD split in two, using probabilities adjusted to the target's class prior.

    ``adjusted`` is the score of the adjusted predictions, ``label_shift`` is ``adjusted`` - ST, and ``rest`` is TT -
    ``adjusted`` (null without a TT). ``temperature`` divides log-probabilities; it is fitted on predictions on the
    source's own test texts, and 1 without them.
    """

    adjusted: Estimate
    label_shift: Estimate
    rest: Estimate
    temperature: float


class HomeConfidence(Record):
    """Confidence metrics of models on the domain that they were trained on."""

    domain: str
    figures: ConfidenceFigures


class ShiftConfidence(Record):
    """Confidence metrics of one shift, and their difference from in-domain ones (null without such predictions)."""

    source: str
    target: str
    figures: ConfidenceFigures
    difference: ConfidenceFigures | None
    label_shift: LabelShift | None = pydantic.Field(
        description="Null without all probabilities, or if a class of the target is not in the training data"
    )


class ConfidenceCurves(Record):
    """Reliability diagram with equal-mass bins, pooled over cells, and risk-coverage curve."""

    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]
    coverage: tuple[float, ...]
    risk: tuple[float, ...]


class Confidence(Record):
    """Confidence metrics in domain, out of domain and their difference; means are over domains and shifts.

    ``given`` is 'probabilities' (of all labels: Brier is multi-class, in [0, 2]) or 'confidence' (only of the predicted
    label: top-label Brier, in [0, 1]). Means over shifts are over single sources if there are any.
    """

    given: str
    in_domain: tuple[HomeConfidence, ...]
    shifts: tuple[ShiftConfidence, ...]
    mean_in_domain: ConfidenceFigures | None
    mean_out: ConfidenceFigures | None
    mean_difference: ConfidenceFigures | None
    mean_label_shift: Estimate | None
    mean_rest: Estimate | None
    curves_in_domain: ConfidenceCurves | None
    curves_out: ConfidenceCurves | None


METRIC_VERSION = "7"
"""Changes if the same predictions on the same data would score differently, or if the score schema changes."""

OUTSIDE_BASES = {NO_SOURCE: "zero-shot", ELSEWHERE: "elsewhere"}
"""Values of ``Summary.basis`` for shifts from sources that are not domains of the dataset."""


class DetectableDrop(Record):
    """The smallest true drop that a two-sided test at 5% detects with 80% power: (t.975 + t.80) SE.

    It uses the interval's standard error, never the observed drop. ``models`` is for these trained models (other test
    texts); ``recipe`` also includes training variance (null if it was not measured). ``corrected`` divides the level
    over the same drop of all the task's shifts (for a mean it is the same).
    """

    models: float
    models_corrected: float
    recipe: float | None
    recipe_corrected: float | None


Detectable = dict[str, DetectableDrop]
"""Smallest detectable drops by figure; those without an interval are omitted."""


class InDomain(Record):
    """The score of models on the domain they were trained on (SS of one domain, TT of shifts into it)."""

    domain: str
    n: int
    runs: int
    score: Estimate
    total: Total
    secondary: dict[str, float | None] = pydantic.Field(description="Other metrics, by name")
    unparsed: float
    at_floor: bool = pydantic.Field(default=False, description="Not shown to be above the no-skill level")


class Flips(Record):
    """TD of the per-example score as loss - gain, with the churn between two runs of one source.

    The per-example score is 1 or 0 for labels and for tag sequences (all spans right), else token F1, BERTScore-F1 or
    ROUGE-L. Churn is between seeds, null with a single run. Models trained on different texts differ by more than that
    even without any shift: ``without_shift`` is loss + gain on the task's placebo, ``excess`` the amount beyond it.
    """

    loss: float
    gain: float
    churn_in_domain: float | None
    churn_cross_domain: float | None
    without_shift: float | None = pydantic.Field(
        default=None, description="Mean loss + gain over the placebo's shifts; null (not measured) without a placebo"
    )
    excess: float | None = pydantic.Field(default=None, description="loss + gain - without_shift")


class ShiftWithoutRepeats(Record):
    """Scores and drops of a shift, excluding test texts that repeat a train text of their own domain."""

    source: str
    target: str
    n: int
    st: Estimate
    ss: Estimate
    tt: Estimate
    sd: Estimate
    td: Estimate


class WithoutRepeats(Record):
    """Scores and drops, excluding test texts that repeat, nearly or exactly, a train text of their own domain.

    The means are those of ``Summary``, over the same shifts; they are null if a domain has no other test text.
    """

    left_out: int = pydantic.Field(description="Number of excluded test texts, over all domains")
    mean_ss: Estimate
    mean_st: Estimate
    mean_sd: Estimate
    mean_td: Estimate
    average_drop: Estimate
    total: Total
    shifts: tuple[ShiftWithoutRepeats, ...]


class NearDuplicates(Record):
    """Shares of a task's test texts, pooled over domains, that repeat a train text of their own domain.

    Like a shift, they make SS and TT higher than ST. A placebo does not show this, because it assigns such texts to
    different domains.
    """

    near: float = pydantic.Field(description="Share similar but not equal to a train text of another group")
    exact: float = pydantic.Field(description="Share equal to a train text")
    without: WithoutRepeats | None = pydantic.Field(
        default=None, description="Null without such texts, and if an older folder does not list them"
    )


class PriorFixed(Record):
    """The primary metric under a uniform class prior (for questions a fixed one); null if gold lacks a class."""

    st: float | None
    ss: float | None
    tt: float | None
    sd: float | None
    td: float | None


class Shift(Record):
    """One ordered pair source -> target; values are means over the runs (seeds)."""

    source: str
    target: str
    n: int
    runs: int
    st: Estimate
    ss: Estimate
    tt: Estimate
    sd: Estimate
    td: Estimate
    idd: Estimate
    total: Total
    scenario: str
    resolved: bool = pydantic.Field(
        description="Whether the 95% intervals of SD and TD, including training variance if measured, both exclude 0"
    )
    scenario_support: dict[str, float] = pydantic.Field(
        default={}, description="Empty from metric version 7 on: see ``resolved``. Removed in 0.4"
    )
    secondary: dict[str, float | None] = pydantic.Field(description="Other metrics of ST, by name")
    unparsed: float
    flips: Flips | None = pydantic.Field(description="Null without a run trained on the target")
    prior_fixed: PriorFixed | None = pydantic.Field(description="Null for tasks without classes")
    reference_td: Estimate | None = pydantic.Field(
        description="TD relative to a reference model's TT, if there is no TT"
    )
    depth_f1: dict[str, Estimate] = pydantic.Field(description="Depth F1 (micro, as in its paper) by lambda")
    depth_score: dict[str, Estimate] = pydantic.Field(description="Primary metric, depth-weighted, by lambda")
    depth_sd: dict[str, Estimate] = pydantic.Field(description="SS minus depth-weighted ST, by lambda")
    depth_td: dict[str, Estimate] = pydantic.Field(description="TT minus ST, both depth-weighted, by lambda")
    effective_n: dict[str, float] = pydantic.Field(description="Effective number of texts, by lambda")
    depth_slope: Estimate | None = pydantic.Field(
        default=None, description="Increase of the per-example score per standard deviation of depth in the source"
    )
    at_floor: tuple[str, ...] = pydantic.Field(
        default=(), description="Scores (st, ss, tt) not shown to be above the no-skill level"
    )
    detectable: Detectable = pydantic.Field(default={}, description="Smallest detectable 'sd' and 'td'")


class NextDomain(Record):
    """Prediction for one more target domain: the mean over target domains, with a 95% prediction interval.

    All other intervals are for the given domains only. ``drop`` is SS - ST, averaged over sources; null without an SS.
    """

    n_domains: int
    st: Estimate
    drop: Estimate


class Summary(Record):
    """Summary over the shifts of one task.

    ``basis`` names the shifts: 'single-source' (one training domain each; the usual case), otherwise 'joined',
    'zero-shot' or 'elsewhere' (trained outside the dataset). ``average_drop`` needs the complete grid. Standard
    deviations are sample standard deviations over shifts. If models are trained on one domain only, ``basis`` is
    'id-ood': shifts from that domain; ``complete`` then means that none is missing, ``mean_ss`` is the ID score and
    ``mean_st`` the mean OOD score. Values that need the other domains as sources are then null; TD values are over the
    targets that have a TT. For a pairing (Depth F1 paper) ``basis`` is 'pairing': a single shift, without a drop.
    ``r2`` of pure noise is 0.25 with many domains, 0.27 with 6, 0.29 with 5 and 0.37 with 3.
    """

    basis: str
    complete: bool
    n_shifts: int
    mean_ss: Estimate
    highest_ss: Estimate
    lowest_ss: Estimate
    mean_st: Estimate
    highest_st: Estimate
    lowest_st: Estimate
    average_drop: Estimate
    mean_sd: Estimate
    mean_td: Estimate
    worst_sd: Estimate
    worst_td: Estimate
    worst_sd_split_half: float | None = pydantic.Field(
        default=None, description="Null from metric version 7 on: see the interval of the worst drop. Removed in 0.4"
    )
    worst_td_split_half: float | None = None
    worst_sd_posterior: float | None = pydantic.Field(default=None, description="Null, as for worst_sd_split_half")
    worst_td_posterior: float | None = None
    average_worst_sd: Estimate
    average_worst_td: Estimate
    sd_std: Estimate
    td_std: Estimate
    spearman_st_ss: float | None
    spearman_st_tt: float | None
    r2_idd_sd: float | None
    r2_idd_td: float | None
    home_advantage: Any = pydantic.Field(
        default=None, description="Null from metric version 7 on: it equals the average drop. Removed in 0.4"
    )
    scenario_chi_square_p: float | None = pydantic.Field(
        description="The Domain Robustness paper's test of scenario counts; its assumptions do not hold"
    )
    total: Total
    scenario_shares: dict[str, float | None]
    resolved_share: float | None = pydantic.Field(
        description="Share of shifts whose scenario is resolved, uncorrected for their number"
    )
    depth_f1: dict[str, Estimate] = pydantic.Field(description="Mean Depth F1 over the shifts, by lambda")
    depth_score: dict[str, Estimate]
    depth_slope: Estimate | None = pydantic.Field(
        default=None, description="Mean over the shifts that have one; null without depths"
    )
    next_domain: NextDomain | None = pydantic.Field(
        default=None, description="Null with one target domain, or if a shift of the grid is missing"
    )
    unparsed: float
    at_floor: bool = pydantic.Field(
        default=False, description="Mean ST is not shown to be above the no-skill level: drops are not informative"
    )
    detectable: Detectable = pydantic.Field(
        default={}, description="Smallest detectable 'average_drop', 'mean_sd' and 'mean_td'"
    )

    @pydantic.model_validator(mode="before")
    @classmethod
    def _drop_retired_figures(cls, content: Any) -> Any:
        """Read scores of metric versions up to 4, which had a p value instead of ``home_advantage``."""
        if not isinstance(content, dict):
            return content
        return {name: value for name, value in content.items() if name != "source_permutation_p"}


class FourTypes(Record):
    """Span F1 with the four rarer of BOSS's eight entity types merged into miscellaneous."""

    id: float | None
    ood: dict[str, float | None]
    mean_ood: float | None


class IdOod(Record):
    """ID and OOD scores of a model trained on the in-distribution (ID) domain.

    ``source`` is the ID domain; without a model trained on it 'none' (zero-shot) or 'elsewhere', else a joined source
    that includes the ID domain, whose other parts are then not OOD. ``id`` is the score on the ID domain's test.
    ``mean_ood`` is over the available OOD scores. ``drop`` is ``id - mean_ood``; it is null unless every OOD score is
    available, and for models trained on no domain, which have no in-domain score. ``total`` has intervals of 'id',
    'ood.<domain>', 'mean_ood' and 'drop'.
    """

    id_domain: str
    source: str
    complete: bool = pydantic.Field(description="Whether the ID domain and every other one have scores")
    id: Estimate
    ood: dict[str, Estimate]
    mean_ood: Estimate
    drop: Estimate
    total: Total
    four_types: FourTypes | None = pydantic.Field(description="Null except for tags of the eight types")
    detectable: Detectable = pydantic.Field(default={}, description="Smallest detectable 'drop'")


class FloorLevels(Record):
    """No-skill scores on a test set: uniformly random labels, and the most frequent label for every text."""

    chance: float
    majority: float


class BoundedDrop(Record):
    """Result of testing that a drop stays below a margin on all shifts, by the highest one-sided 95% upper bound.

    ``source`` and ``target`` are the shift with that bound, null for the average drop. ``upper`` and ``margin_holds``
    are for these trained models, null with the ``reason``; ``..._recipe`` include training variance, null if it was not
    measured.
    """

    figure: str
    n_shifts: int
    source: str | None = None
    target: str | None = None
    upper: float | None = None
    margin_holds: bool | None
    upper_recipe: float | None = None
    margin_holds_recipe: bool | None = None
    reason: str | None = None


class NonInferiority(Record):
    """Result of testing that no drop exceeds a margin fixed in advance: SD and TD on all shifts, and on average."""

    margin: float
    claims: tuple[BoundedDrop, ...]


class Annotators(Record):
    """Scores of single annotators on the test texts, by the task's metric, for domains with annotators' votes upstream.

    ``others`` compares each annotator with the majority of the others, ``gold`` with the gold label, to which the
    annotator's own vote contributed. Both are over all test texts with at least two votes, for every subset.
    """

    others: dict[str, float]
    gold: dict[str, float]
    mean_others: float
    mean_gold: float


class TaskScores(Record):
    """All scores of one task. ``floors`` are by test domain; empty for generation tasks."""

    task: str
    metric: str
    domains: tuple[str, ...]
    summary: Summary
    id_ood: IdOod | None = pydantic.Field(
        description="Null for tasks without an ID domain, and without a model trained on it or on no domain"
    )
    in_domain: tuple[InDomain, ...]
    shifts: tuple[Shift, ...]
    confidence: Confidence | None = pydantic.Field(
        default=None, description="Null without confidences, and for tasks without labels"
    )
    floors: dict[str, FloorLevels] = pydantic.Field(default={})
    non_inferiority: NonInferiority | None = pydantic.Field(default=None, description="Null without a margin")
    annotators: Annotators | None = pydantic.Field(default=None, description="Null if upstream has no votes")
    near_duplicates: NearDuplicates | None = pydantic.Field(
        default=None, description="Null if the folder has no statistics, and for placebos"
    )


class Missing(Record):
    """A prediction that was missing when the file was scored."""

    task: str
    source: str | None
    target: str | None
    what: str


class Scores(Record):
    """Scores of one prediction file."""

    benchmark: str
    data: str = pydantic.Field(description="Content hash of the dataset folder")
    settings: str | None = pydantic.Field(default=None, description="Its settings hash; null in older scores")
    partial_data: bool
    unverified_data: bool = pydantic.Field(
        default=False, description="Whether some upstream file of the data could not be verified"
    )
    synthetic_data: bool
    subset: str
    metric_version: str
    depth_encoder: str | None = pydantic.Field(description="Encoder of the depths, id@revision; null without depths")
    token_encoder: str | None = pydantic.Field(description="Encoder of BERTScore's tokens; null if none was given")
    tasks: tuple[TaskScores, ...]
    missing: tuple[Missing, ...]

    @property
    def version(self) -> DataVersion:
        """Return the dataset version that they were computed on."""
        return DataVersion(self.data, self.settings)


class Confusion(Record):
    """Number of times that one label was predicted where another is correct."""

    gold: str
    predicted: str
    n: int


class DomainScore(Record):
    """A model's score on one domain's test texts.

    ``difference`` is the tested value: the drop from the source domain if the model's source is among the domains (null
    on the source itself), else the score minus the mean of the other domains; its interval is pointwise. ``p`` is
    corrected over the domains (Holm). ``detectable`` is the smallest true difference that this test detects with 80%
    power. All three are null for a domain with few texts.
    """

    domain: str
    n: int
    has_few_texts: bool
    score: Estimate
    floor: FloorLevels | None
    at_floor: bool
    unparsed: float
    difference: Estimate | None = None
    p: float | None = None
    detectable: float | None = None
    confidence: ConfidenceFigures | None = None
    confusions: tuple[Confusion, ...] = ()


class DomainSpread(Record):
    """The spread of scores over the domains with enough texts.

    ``observed`` is the standard deviation of the scores, ``by_chance`` the one expected from sampling of test texts
    alone, ``beyond_chance`` the excess, at least 0; null without intervals.
    """

    highest: str
    lowest: str
    range: float
    observed: float
    by_chance: float | None
    beyond_chance: float | None


class ProbeScores(Record):
    """A cheap model that was trained on each domain, with equal numbers of texts, and tested on that same domain (TT).

    ``n_train`` is the number of training texts, ``scores`` are means over runs. ``reference_td`` is TT minus the
    checked model's score.
    """

    name: str
    n_train: int
    scores: dict[str, Estimate]
    reference_td: dict[str, Estimate]
    at_floor: tuple[str, ...]


class ExplainedDomain(Record):
    """The parts of a drop, ``drop = difficulty + rest``, and the verdict (``metrics.difficulty_verdict``).

    The intervals of difficulty and rest are over other test texts and other training texts of the probes. ``verdict``
    is the one shared by ``as_is`` (unweighted texts) and ``at_home_shares`` (texts reweighted to the source's class
    prior; null if the domain lacks a class of the source).
    """

    domain: str
    drop: Estimate
    difficulty: Estimate
    rest: Estimate
    difficulties: dict[str, Estimate]
    verdict: str
    reason: str | None
    as_is: str | None = None
    at_home_shares: str | None = None
    at_home_shares_reason: str | None = None


class Leaks(Record):
    """Number of test texts excluded, by domain, because the training texts contain them exactly or nearly."""

    n_train: int
    exact: dict[str, int]
    near: dict[str, int]


class NextStep(Record):
    """The recommended step for a domain (``scoring.scores.next_steps``).

    Accept it, label more of it, check its labels, retrain with it, or accept that it is harder for any model.
    """

    domain: str
    step: str
    texts: int | None = pydantic.Field(
        default=None, description="Number of additional texts to label; null if none or unknown"
    )
    of_home: bool = pydantic.Field(default=False, description="Whether to label as many in the source domain, too")
    p: float | None = pydantic.Field(
        default=None, description="p value of the deciding test, corrected over the domains"
    )
    rows: tuple[str, ...] = pydantic.Field(default=(), description="Ids of the rows whose labels are suspect")
    evidence: str = pydantic.Field(default="", description="The reason, as text")
    command: str | None = pydantic.Field(default=None, description="The command to run next; null without one")


class PeriodGroups(Record):
    """The texts of one period by group: the input of tests over time, and a line of a history file.

    ``groups`` counts identical groups: number of texts in the group, their mean score, number of such groups.
    """

    period: str
    n: int
    groups: tuple[tuple[int, float, int], ...]


class PeriodScore(Record):
    """A period's mean score over texts, and the evidence after it (null in the reference and before it)."""

    period: str
    place: int = pydantic.Field(description="Position on the time axis, in units")
    n: int
    score: Estimate
    is_reference: bool = False
    evidence: float | None = None


class TrendFound(Record):
    """A straight line through the periods; ``slope`` is the change from one period to the next."""

    slope: Estimate
    p: float = pydantic.Field(description="Holm-corrected, if a change was tested too")
    jitter: float = pydantic.Field(description="Standard deviation between periods in excess of sampling error")


class ChangeFound(Record):
    """One step between periods; ``first`` to ``last`` is the 95% confidence set of the first period after it."""

    at: str = pydantic.Field(description="First period after the step")
    step: float
    p: float = pydantic.Field(description="Holm-corrected for the test of a trend")
    first: str | None = pydantic.Field(description="Null if there is more than one step")
    last: str | None


class AlarmFound(Record):
    """The sequential test that later periods fell below the reference; evidence of 20 or more raises an alarm."""

    reference: tuple[str, ...]
    mean: Estimate = pydantic.Field(description="Mean over the reference's periods")
    n_looks: int
    at: str | None = pydantic.Field(description="The period of the first alarm; null without one")
    largest: float = pydantic.Field(description="Largest evidence so far; the anytime-valid p is 1 over it, at most 1")
    allowance: float = pydantic.Field(
        description="Variation between periods allowed for at the alarm, or at the last period"
    )
    is_assumed: bool = pydantic.Field(
        description="Whether that variation was assumed, for lack of periods to estimate it from"
    )


class OverTime(Record):
    """Scores over periods: the mean of ``measure`` over texts, which may differ from the check's metric.

    ``shown`` is ``trend`` or ``change``: the one that is significant at 5% after correction for both, and if both are,
    the one that explains more variance; null if neither is. Periods without an interval are used only by the alarm.
    """

    unit: str
    measure: str
    periods: tuple[PeriodScore, ...]
    trend: TrendFound | None = pydantic.Field(description="Null below 3 periods")
    change: ChangeFound | None = pydantic.Field(description="Null below 12 periods")
    shown: str | None
    alarm: AlarmFound | None = pydantic.Field(description="Null without a reference, or a period after it")


class Slice(Record):
    """Texts that score differently from all others, though no domain column identifies them.

    Scores are means over texts. ``n_tested`` is null if all ``n`` texts were tested; for a slice that was searched for
    in one half of the groups, the scores are of the other half only. ``p`` is Holm-corrected over all tests.
    """

    name: str
    kind: str = pydantic.Field(
        description="column, length, language, cluster, or errors (found by searching the model's errors)"
    )
    n: int
    n_tested: int | None = None
    score: Estimate
    rest: Estimate = pydantic.Field(description="Score of all other texts")
    difference: Estimate
    p: float
    words: tuple[str, ...] = pydantic.Field(default=(), description="Most typical words, compared with all other texts")
    texts: tuple[str, ...] = pydantic.Field(default=(), description="Most typical texts, clipped")
    domain: str | None = pydantic.Field(
        default=None, description="Domain of at least three quarters of its texts, if there are several domains"
    )


class SlicesFound(Record):
    """Result of a search for slices; ``slices`` is empty if none is significant.

    ``score`` is the mean over all ``n`` texts. ``n_candidates`` were defined without labels and predictions and tested
    on all texts; ``n_searched`` is the number of tests reserved in the correction for slices searched in the model's
    errors. ``detectable`` are the smallest true differences detected with 80% power, for the easiest and the hardest of
    the ``n_candidates``.
    """

    measure: str
    n: int
    n_groups: int
    score: Estimate
    n_candidates: int = 0
    n_searched: int = 0
    detectable: tuple[float, float] | None = None
    slices: tuple[Slice, ...] = ()
    reason: str | None = pydantic.Field(default=None, description="Why no search was made; null if it was")


class DomainCheck(Record):
    """The findings on one model's predictions on all domains.

    ``home`` is the domain that the model was trained on, null if it was trained on none of them. ``few_texts`` are the
    domains with fewer than ``min_texts`` test texts: listed, but excluded from everything else. ``mean`` is over the
    others.
    """

    model: str
    task: str
    metric: str
    home: str | None
    min_texts: int
    few_texts: dict[str, int]
    domains: tuple[DomainScore, ...]
    mean: Estimate | None
    mean_drop: Estimate | None = pydantic.Field(
        description="In-domain score minus the mean of the others; null without an in-domain score"
    )
    spread: DomainSpread | None
    probes: tuple[ProbeScores, ...] = ()
    explained: tuple[ExplainedDomain, ...] = ()
    without_probe: dict[str, str] = pydantic.Field(
        default={}, description="Domains that no probe was trained on, with the reason"
    )
    leaks: Leaks | None = None
    notes: tuple[str, ...] = ()
    margin: float | None = pydantic.Field(
        default=None, description="Loss below which a domain is accepted, fixed in advance"
    )
    steps: tuple[NextStep, ...] = pydantic.Field(
        default=(), description="Recommended step for each domain except the source"
    )
    over_time: OverTime | None = pydantic.Field(default=None, description="Null if domains are not periods")
    slices: SlicesFound | None = pydantic.Field(default=None, description="Null if none were searched for")
