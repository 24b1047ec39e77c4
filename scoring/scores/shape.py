"""The shape of scores: what ``shiftbench score --json`` prints, the board shows and other programs may rely on.

Values are fractions, unrounded. ``low`` and ``high`` bound the 95% test-sampling interval (other test sets, the same
trained models); they are null where none exists, as for extremes and spreads over shifts, and where none would be
honest: ``no_interval`` then says why (see ``shiftbench.scoring.scores.figures.Reason``). Worst drops have the
interval that holds every shift's drop at once, so it is wider than that shift's own. ``total`` holds, by figure, the
interval over training runs as well; it is empty with fewer than 5 runs of a source: training variance not measured. A
figure that is undefined, or whose predictions are missing, is null; ``missing`` says what is not there.

``DomainCheck`` is the shape of what ``shiftbench check`` finds of one model: its scores by domain, and the conclusions.
"""

from typing import Any

import pydantic

from shiftbench.validation.versions import DataVersion
from shiftbench.validation.vocabulary import ELSEWHERE, NO_SOURCE


class Record(pydantic.BaseModel):
    """A part of the shape of scores: closed and immutable."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Estimate(Record):
    """A figure and the bounds of its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    no_interval: str | None = pydantic.Field(default=None, description="Why there is no interval where one could be")


class Interval(Record):
    """The bounds of a 95% interval."""

    low: float
    high: float


Total = dict[str, Interval]
"""Total intervals by figure."""


class ConfidenceFigures(Record):
    """Figures of calibration, and of ranking by confidence."""

    overconfidence: Estimate = pydantic.Field(description="Mean confidence less accuracy")
    calibration_error: Estimate = pydantic.Field(
        description="Squared, over bins of equal mass, without bias: below 0 by chance"
    )
    brier: Estimate
    failure_auroc: Estimate = pydantic.Field(description="Chance that a right prediction is surer than a wrong one")
    excess_aurc: Estimate = pydantic.Field(description="Area under risk by coverage, above the best order's")


class LabelShift(Record):
    """TD split in two by probabilities that were adjusted to the target's class shares.

    ``adjusted`` is the score of the adjusted predictions, ``label_shift`` it less ST, ``rest`` TT less it (null without
    a TT). ``temperature`` divides log-probabilities: set on predictions of the source's own test texts, 1 without them.
    """

    adjusted: Estimate
    label_shift: Estimate
    rest: Estimate
    temperature: float


class HomeConfidence(Record):
    """Confidences of models on the domain they were trained on."""

    domain: str
    figures: ConfidenceFigures


class ShiftConfidence(Record):
    """Confidences on one shift: out of domain, and out of domain less at home (null without predictions at home)."""

    source: str
    target: str
    figures: ConfidenceFigures
    difference: ConfidenceFigures | None
    label_shift: LabelShift | None = pydantic.Field(
        description="Null without all probabilities, or where a class of the target was never trained on"
    )


class ConfidenceCurves(Record):
    """Reliability in bins of equal mass, pooled over cells; error rate among the most confident, by coverage."""

    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]
    coverage: tuple[float, ...]
    risk: tuple[float, ...]


class Confidence(Record):
    """Figures of confidences in domain, out of domain and of their difference; means are over domains and shifts.

    ``given`` is 'probabilities' (of all labels: Brier is multi-class, in [0, 2]) or 'confidence' (of the prediction
    alone: Brier is that of the top label, in [0, 1]). Means over shifts are over single sources where there are any.
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
"""Changes when the same predictions on the same data would score differently, or the shape of scores changes."""

OUTSIDE_BASES = {NO_SOURCE: "zero-shot", ELSEWHERE: "elsewhere"}
"""Values of ``Summary.basis`` for shifts from sources that are not domains of the dataset."""


class DetectableDrop(Record):
    """The smallest true drop that a two-sided test at 5% finds in four studies of five: (t.975 + t.80) SE.

    It is made of the interval's standard error, never of the observed drop. ``models`` is about these trained models
    (other test texts), ``recipe`` about other training runs as well (null where training variance was not measured);
    ``corrected`` shares the level with the same drop of all the task's shifts (of a mean it is the same).
    """

    models: float
    models_corrected: float
    recipe: float | None
    recipe_corrected: float | None


Detectable = dict[str, DetectableDrop]
"""Smallest detectable drops by figure; without those that have no interval."""


class InDomain(Record):
    """The score of models on the domain they were trained on (SS of one domain, TT of shifts into it)."""

    domain: str
    n: int
    runs: int
    score: Estimate
    total: Total
    secondary: dict[str, float | None] = pydantic.Field(description="Other metrics, by name")
    unparsed: float
    at_floor: bool = pydantic.Field(default=False, description="Not shown to be above the level that needs no skill")


class Flips(Record):
    """TD of the per-example score as loss - gain, with the turnover of two runs of one source.

    The per-example score is 1 or 0 for labels and for tag sequences (all spans right), else token F1, BERTScore-F1 or
    ROUGE-L. Churn is that of seeds, null with a single run. Models of different training texts differ by more than that
    without any shift: ``without_shift`` is loss + gain on the task's placebo, ``excess`` what is beyond it here.
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
    """Scores and drops of a shift without the test texts that repeat a train text of their own domain."""

    source: str
    target: str
    n: int
    st: Estimate
    ss: Estimate
    tt: Estimate
    sd: Estimate
    td: Estimate


class WithoutRepeats(Record):
    """Scores and drops without the test texts that repeat, nearly or exactly, a train text of their own domain.

    The means are those of ``Summary``, over the same shifts; they are null where a domain has no other test text.
    """

    left_out: int = pydantic.Field(description="Test texts left out, over all domains")
    mean_ss: Estimate
    mean_st: Estimate
    mean_sd: Estimate
    mean_td: Estimate
    average_drop: Estimate
    total: Total
    shifts: tuple[ShiftWithoutRepeats, ...]


class NearDuplicates(Record):
    """Shares of a task's test texts, its domains pooled, that repeat a train text of their own domain.

    They raise SS and TT and not ST, as a shift would; a placebo, which deals them to other domains, does not show it.
    """

    near: float = pydantic.Field(description="With a train text of another group that is similar, not equal")
    exact: float = pydantic.Field(description="With a train text that is equal")
    without: WithoutRepeats | None = pydantic.Field(
        default=None, description="Null without such texts, and where an older folder does not list them"
    )


class PriorFixed(Record):
    """The primary metric at one test prior: every class at one share; null where a class is absent from gold."""

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
        description="Whether the 95% intervals of SD and of TD both exclude 0, the total ones where measured"
    )
    scenario_support: dict[str, float] = pydantic.Field(
        default={}, description="Empty from metric version 7 on: ``resolved`` says what is shown. Ends with 0.4"
    )
    secondary: dict[str, float | None] = pydantic.Field(description="Other metrics of ST, by name")
    unparsed: float
    flips: Flips | None = pydantic.Field(description="Null without a run trained on the target")
    prior_fixed: PriorFixed | None = pydantic.Field(description="Null for tasks without classes")
    reference_td: Estimate | None = pydantic.Field(description="Against a reference's TT, where the entry has none")
    depth_f1: dict[str, Estimate] = pydantic.Field(description="Depth F1 (micro, as in its paper) by lambda")
    depth_score: dict[str, Estimate] = pydantic.Field(description="Primary metric, depth-weighted, by lambda")
    depth_sd: dict[str, Estimate] = pydantic.Field(description="SS minus depth-weighted ST, by lambda")
    depth_td: dict[str, Estimate] = pydantic.Field(description="TT minus ST, both depth-weighted, by lambda")
    effective_n: dict[str, float] = pydantic.Field(description="Effective number of texts, by lambda")
    depth_slope: Estimate | None = pydantic.Field(
        default=None, description="Rise of the per-example score per standard deviation of depth in the source"
    )
    at_floor: tuple[str, ...] = pydantic.Field(
        default=(), description="Scores (st, ss, tt) not shown to be above the level that needs no skill"
    )
    detectable: Detectable = pydantic.Field(default={}, description="Smallest detectable 'sd' and 'td'")


class NextDomain(Record):
    """Prediction for one more target domain: the mean over target domains, with a 95% prediction interval.

    All other intervals are for the domains at hand. ``drop`` is SS - ST, averaged over sources; null without an SS.
    """

    n_domains: int
    st: Estimate
    drop: Estimate


class Summary(Record):
    """Figures over the shifts of one task.

    ``basis`` names which shifts: 'single-source' (one training domain each; the rule), else 'joined', 'zero-shot' or
    'elsewhere' (trained outside the dataset). ``average_drop`` needs the complete grid. Standard deviations are those
    of a sample of shifts. Where models are trained on one domain alone, ``basis`` is 'id-ood': shifts from that domain,
    of which ``complete`` says that none is missing, ``mean_ss`` is the ID score and ``mean_st`` the mean OOD score;
    figures that need the other domains as sources are null, those of TD are over the targets that have a TT.
    Of a pairing (Depth F1 paper) it is 'pairing': its one shift, which has no drop.
    ``r2`` of scores that are noise is 0.25 with many domains, 0.27 with 6, 0.29 with 5 and 0.37 with 3.
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
        default=None, description="Null from metric version 7 on: the interval of the worst drop says it. Ends with 0.4"
    )
    worst_td_split_half: float | None = None
    worst_sd_posterior: float | None = pydantic.Field(default=None, description="Null likewise")
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
        default=None, description="Null from metric version 7 on: it is the average drop. Ends with 0.4"
    )
    scenario_chi_square_p: float | None = pydantic.Field(
        description="The Domain Robustness paper's test of scenario counts; its assumptions do not hold"
    )
    total: Total
    scenario_shares: dict[str, float | None]
    resolved_share: float | None = pydantic.Field(
        description="Share of shifts whose scenario is resolved, each by itself: not corrected for their number"
    )
    depth_f1: dict[str, Estimate] = pydantic.Field(description="Mean Depth F1 over the shifts, by lambda")
    depth_score: dict[str, Estimate]
    depth_slope: Estimate | None = pydantic.Field(
        default=None, description="Mean over the shifts that have one; null without depths"
    )
    next_domain: NextDomain | None = pydantic.Field(
        default=None, description="Null with one target domain, or where a shift of the grid is missing"
    )
    unparsed: float
    at_floor: bool = pydantic.Field(
        default=False, description="Mean ST is not shown to be above the level that needs no skill: drops mean nothing"
    )
    detectable: Detectable = pydantic.Field(
        default={}, description="Smallest detectable 'average_drop', 'mean_sd' and 'mean_td'"
    )

    @pydantic.model_validator(mode="before")
    @classmethod
    def _drop_retired_figures(cls, content: Any) -> Any:
        """Read scores of metric version 4 and before, which had a p value in the place of ``home_advantage``."""
        if not isinstance(content, dict):
            return content
        return {name: value for name, value in content.items() if name != "source_permutation_p"}


class FourTypes(Record):
    """Span F1 with the four rarer of BOSS's eight entity types counted as miscellaneous."""

    id: float | None
    ood: dict[str, float | None]
    mean_ood: float | None


class IdOod(Record):
    """A model trained on the in-distribution (ID) domain: its score there, and out of distribution (OOD).

    ``source`` is the ID domain; without a model of it 'none' (zero-shot) or 'elsewhere', else a joined source with the
    ID domain in it, whose other parts are not OOD for it. ``id`` is the score on the ID domain's test. ``mean_ood`` is
    over the OOD scores that there are, ``drop`` is ``id - mean_ood``: null unless every OOD score is there, and of
    zero-shot models and those trained elsewhere, which have no home to drop from. ``total`` has intervals of 'id',
    'ood.<domain>', 'mean_ood' and 'drop'.
    """

    id_domain: str
    source: str
    complete: bool = pydantic.Field(description="Whether scores are there on the ID domain and every other one")
    id: Estimate
    ood: dict[str, Estimate]
    mean_ood: Estimate
    drop: Estimate
    total: Total
    four_types: FourTypes | None = pydantic.Field(description="Null but for tags of the eight types")
    detectable: Detectable = pydantic.Field(default={}, description="Smallest detectable 'drop'")


class FloorLevels(Record):
    """Scores without skill on a test set: labels at random, and the most frequent label for every text."""

    chance: float
    majority: float


class BoundedDrop(Record):
    """Result of testing that a drop stays below a margin on all shifts, by the highest one-sided 95% upper bound.

    ``source`` and ``target`` have that bound; of the average drop they are null. ``upper`` and ``margin_holds`` are
    about these trained models, null with the ``reason``; ``..._recipe`` about other training runs as well, null where
    training variance was not measured.
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
    """Result of testing that no drop is above a margin fixed beforehand: SD and TD on all shifts, and on average."""

    margin: float
    claims: tuple[BoundedDrop, ...]


class Annotators(Record):
    """Scores of single annotators on the test texts, by the task's metric, for domains whose votes upstream has.

    ``others`` judges each annotator by the majority of the others, ``gold`` by the gold label, which the annotator's
    own vote helped to make. On all test texts that have two votes, whatever the subset.
    """

    others: dict[str, float]
    gold: dict[str, float]
    mean_others: float
    mean_gold: float


class TaskScores(Record):
    """All scores of one task. ``floors`` are by test domain; generated text has none."""

    task: str
    metric: str
    domains: tuple[str, ...]
    summary: Summary
    id_ood: IdOod | None = pydantic.Field(
        description="Null but for tasks with one training domain, and there without a model of it or of no domain"
    )
    in_domain: tuple[InDomain, ...]
    shifts: tuple[Shift, ...]
    confidence: Confidence | None = pydantic.Field(
        default=None, description="Null without confidences, and for tasks without labels"
    )
    floors: dict[str, FloorLevels] = pydantic.Field(default={})
    non_inferiority: NonInferiority | None = pydantic.Field(default=None, description="Null without a margin")
    annotators: Annotators | None = pydantic.Field(default=None, description="Null where upstream has no votes")
    near_duplicates: NearDuplicates | None = pydantic.Field(
        default=None, description="Null where the folder has no statistics, and for placebos"
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
    token_encoder: str | None = pydantic.Field(description="Encoder of BERTScore's tokens; null where none was given")
    tasks: tuple[TaskScores, ...]
    missing: tuple[Missing, ...]

    @property
    def version(self) -> DataVersion:
        """Return the version of the dataset that they are on."""
        return DataVersion(self.data, self.settings)


class Confusion(Record):
    """The number of times that one label was predicted where another is right."""

    gold: str
    predicted: str
    n: int


class DomainScore(Record):
    """A model's score on one domain's test texts.

    ``difference`` is what is tested of it: the drop from home where the model has a home here (null at home), else the
    score less the mean of the other domains; its interval is of this domain alone. ``p`` is corrected over the domains
    (Holm). ``detectable`` is the smallest true difference that this test would find in four studies of five. All three
    are null of a domain with few texts.
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
    """The spread of scores over the domains that count.

    ``observed`` is the standard deviation of the scores, ``by_chance`` what test texts alone would give,
    ``beyond_chance`` what is left of it, at least 0; null without intervals.
    """

    highest: str
    lowest: str
    range: float
    observed: float
    by_chance: float | None
    beyond_chance: float | None


class ProbeScores(Record):
    """A cheap model that was trained on each domain, at equal sizes, and tested on that same domain (TT).

    ``n_train`` is the number of texts that each was trained on, ``scores`` are means over its trainings.
    ``reference_td`` is TT less the checked model's score.
    """

    name: str
    n_train: int
    scores: dict[str, Estimate]
    reference_td: dict[str, Estimate]
    at_floor: tuple[str, ...]


class ExplainedDomain(Record):
    """The parts of a drop, ``drop = difficulty + rest``, and the verdict (``metrics.difficulty_verdict``).

    The intervals of difficulty and rest are over other test texts and other train texts of the probes. ``verdict`` is
    what holds on the domain ``as_is`` and ``at_home_shares``, where the classes have home's shares (null where a class
    of home has no text here).
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
    """Test texts left out, by domain, because the training texts contain them exactly or nearly."""

    n_train: int
    exact: dict[str, int]
    near: dict[str, int]


class NextStep(Record):
    """What to do about a domain: accept it, label more of it, look at its labels, retrain with it, or bear that it is
    harder for any model (``scoring.scores.next_steps``).
    """

    domain: str
    step: str
    texts: int | None = pydantic.Field(
        default=None, description="Texts to label beside those that are labelled; null where none or not known"
    )
    of_home: bool = pydantic.Field(default=False, description="Whether to label as many of the home domain, too")
    p: float | None = pydantic.Field(default=None, description="Of the test that decides, corrected over the domains")
    rows: tuple[str, ...] = pydantic.Field(default=(), description="Ids of the rows whose labels are doubted")
    evidence: str = pydantic.Field(default="", description="Why, in words")
    command: str | None = pydantic.Field(default=None, description="The command to run next; null without one")


class PeriodGroups(Record):
    """The texts of one period, by group: what tests over time are made of, and a line of a history has.

    ``groups`` counts groups that are alike: texts of a group, their mean score, number of such groups.
    """

    period: str
    n: int
    groups: tuple[tuple[int, float, int], ...]


class PeriodScore(Record):
    """A period's mean score over texts, and the evidence at the look after it (null in the reference and before it)."""

    period: str
    place: int = pydantic.Field(description="On the line of time, counted in units")
    n: int
    score: Estimate
    is_reference: bool = False
    evidence: float | None = None


class TrendFound(Record):
    """A straight line through the periods; ``slope`` is the change from one to the next, ``jitter`` a deviation."""

    slope: Estimate
    p: float = pydantic.Field(description="Corrected for the test of a change, where there is one")
    jitter: float = pydantic.Field(description="Standard deviation between periods beside what texts explain")


class ChangeFound(Record):
    """One step between periods; the 95% confidence set of the first period after it reaches from first to last."""

    at: str = pydantic.Field(description="First period after the step")
    step: float
    p: float = pydantic.Field(description="Corrected for the test of a trend")
    first: str | None = pydantic.Field(description="Null where there is more than one step")
    last: str | None


class AlarmFound(Record):
    """The sequential test that later periods fell below the reference; an alarm where evidence reached 20, once."""

    reference: tuple[str, ...]
    mean: Estimate = pydantic.Field(description="Of the reference's periods together")
    n_looks: int
    at: str | None = pydantic.Field(description="The period of the first alarm; null without one")
    largest: float = pydantic.Field(description="Largest evidence so far; p at any look is 1 over it, at most 1")
    allowance: float = pydantic.Field(description="Jitter between periods allowed for at the alarm, or the last look")
    is_assumed: bool = pydantic.Field(description="Whether too few periods show jitter, so that it was assumed")


class OverTime(Record):
    """Scores over periods: the mean over texts of ``measure``, whatever the check's metric is.

    ``shown`` is ``trend`` or ``change``, whichever holds at 5% for both together and leaves less unexplained; null
    where neither does. Periods without an interval are in no test but the alarm.
    """

    unit: str
    measure: str
    periods: tuple[PeriodScore, ...]
    trend: TrendFound | None = pydantic.Field(description="Null below 3 periods")
    change: ChangeFound | None = pydantic.Field(description="Null below 12 periods")
    shown: str | None
    alarm: AlarmFound | None = pydantic.Field(description="Null without a reference, or a period after it")


class Slice(Record):
    """Texts that score differently from all others, though no column of domains names them.

    Figures are means over texts. ``n_tested`` is null where all ``n`` texts were tested; of a slice that was searched
    for in one half of the groups the figures are of the other half alone. ``p`` is corrected over all (Holm).
    """

    name: str
    kind: str = pydantic.Field(description="column, length, language, cluster, or errors: searched for where it errs")
    n: int
    n_tested: int | None = None
    score: Estimate
    rest: Estimate = pydantic.Field(description="Score of all other texts")
    difference: Estimate
    p: float
    words: tuple[str, ...] = pydantic.Field(default=(), description="Most typical words, against all other texts")
    texts: tuple[str, ...] = pydantic.Field(default=(), description="Most typical texts, clipped")
    domain: str | None = pydantic.Field(
        default=None, description="Domain of at least three quarters of its texts, where there are several domains"
    )


class SlicesFound(Record):
    """What a search for slices found; none where ``slices`` is empty.

    ``score`` is the mean over all ``n`` texts. ``n_candidates`` were found without labels and predictions and tested on
    all texts, ``n_searched`` stand in the correction for those that were searched for where the model errs.
    ``detectable`` are the smallest true differences that the tests of the former find in four studies of five, of the
    easiest and of the hardest candidate.
    """

    measure: str
    n: int
    n_groups: int
    score: Estimate
    n_candidates: int = 0
    n_searched: int = 0
    detectable: tuple[float, float] | None = None
    slices: tuple[Slice, ...] = ()
    reason: str | None = pydantic.Field(default=None, description="Why nothing was looked for; null where it was")


class DomainCheck(Record):
    """The findings on one model's predictions on all domains.

    ``home`` is the domain that the model was trained on, null where it was trained elsewhere. ``few_texts`` are the
    domains with fewer than ``min_texts`` test texts: listed, and left out of all else. ``mean`` is over the others.
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
        description="Score at home less the mean of the others; null without home"
    )
    spread: DomainSpread | None
    probes: tuple[ProbeScores, ...] = ()
    explained: tuple[ExplainedDomain, ...] = ()
    without_probe: dict[str, str] = pydantic.Field(default={}, description="Domains that no probe was trained on: why")
    leaks: Leaks | None = None
    notes: tuple[str, ...] = ()
    margin: float | None = pydantic.Field(
        default=None, description="Loss below which a domain is accepted, fixed beforehand"
    )
    steps: tuple[NextStep, ...] = pydantic.Field(default=(), description="What to do about each domain but home")
    over_time: OverTime | None = pydantic.Field(default=None, description="Null where domains are no periods")
    slices: SlicesFound | None = pydantic.Field(default=None, description="Null where none were looked for")
