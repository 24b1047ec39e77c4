"""The shape of scores: what ``shiftbench score --json`` prints, the board shows and other programs may rely on.

Values are fractions, unrounded. ``low`` and ``high`` bound the 95% test-sampling interval (other test sets, the same
trained models); they are null where none exists, as for extremes and spreads over shifts. ``total`` holds, by figure,
the interval over training runs as well; it is empty with fewer than 5 runs of a source: training variance not measured.
A figure that is undefined, or whose predictions are missing, is null; ``missing`` says what is not there.
"""

import pydantic

METRIC_VERSION = "4"
"""Changes when the same predictions on the same data would score differently, or the shape of scores changes."""


class _Shape(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Estimate(_Shape):
    """A figure and the bounds of its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Interval(_Shape):
    """The bounds of a 95% interval."""

    low: float
    high: float


Total = dict[str, Interval]
"""Total intervals by figure."""


class InDomain(_Shape):
    """The score of models on the domain they were trained on (SS of one domain, TT of shifts into it)."""

    domain: str
    n: int
    runs: int
    score: Estimate
    total: Total
    secondary: dict[str, float | None] = pydantic.Field(description="Other metrics, by name")
    unparsed: float


class Flips(_Shape):
    """TD of the per-example score split in two: loss - gain, beside what two runs of one source differ by.

    The per-example score is 1 or 0 for labels and for tag sequences (all spans right), else token F1, BERTScore-F1 or
    ROUGE-L. Churn is null with a single run.
    """

    loss: float
    gain: float
    churn_in_domain: float | None
    churn_cross_domain: float | None


class PriorFixed(_Shape):
    """The primary metric with every class at one share; null where a class is absent from gold."""

    st: float | None
    ss: float | None
    tt: float | None
    sd: float | None
    td: float | None


class Shift(_Shape):
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
    resolved: bool = pydantic.Field(description="Whether the joint 95% region of (SD, TD) lies in one quadrant")
    scenario_support: dict[str, float] = pydantic.Field(description="Share of replicates by scenario")
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


class Summary(_Shape):
    """Figures over the shifts of one task.

    ``basis`` names which shifts: 'single-source' (one training domain each; the rule), else 'joined' or
    'zero-shot'. ``average_drop`` needs the complete grid. Standard deviations are those of a sample of shifts.
    Where models are trained on one domain alone, ``basis`` is 'id-ood': shifts from that domain, of which
    ``complete`` says that none is missing, ``mean_ss`` is the ID score and ``mean_st`` the mean OOD score; figures
    that need the other domains as sources are null, those of TD are over the targets that have a TT.
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
        description="Selected on one half of the groups, taken on the other"
    )
    worst_td_split_half: float | None
    average_worst_sd: Estimate
    average_worst_td: Estimate
    sd_std: Estimate
    td_std: Estimate
    spearman_st_ss: float | None
    spearman_st_tt: float | None
    r2_idd_sd: float | None
    r2_idd_td: float | None
    source_permutation_p: float | None = pydantic.Field(
        description="Whether training on a domain helps there: p of the score matrix's trace when sources are exchanged"
    )
    scenario_chi_square_p: float | None = pydantic.Field(
        description="The Domain Robustness paper's test of scenario counts; its assumptions do not hold"
    )
    total: Total
    scenario_shares: dict[str, float | None]
    resolved_share: float | None = pydantic.Field(description="Share of shifts whose scenario is resolved")
    depth_f1: dict[str, Estimate] = pydantic.Field(description="Mean Depth F1 over the shifts, by lambda")
    depth_score: dict[str, Estimate]
    unparsed: float


class FourTypes(_Shape):
    """Span F1 with the four rarer of BOSS's eight entity types counted as miscellaneous."""

    id: float | None
    ood: dict[str, float | None]
    mean_ood: float | None


class IdOod(_Shape):
    """A model trained on the in-distribution (ID) domain: its score there, and out of distribution (OOD).

    ``source`` is the ID domain; without a model of it 'none' (zero-shot), else a joined source with the ID domain in
    it, whose other parts are not OOD for it. ``id`` is the score on the ID domain's test. ``mean_ood`` is over the OOD
    scores that there are, ``drop`` is ``id - mean_ood``: null unless every OOD score is there, and of zero-shot
    models, which have no home to drop from. ``total`` has intervals of 'id', 'ood.<domain>', 'mean_ood' and 'drop'.
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


class TaskScores(_Shape):
    """All scores of one task."""

    task: str
    metric: str
    domains: tuple[str, ...]
    summary: Summary
    id_ood: IdOod | None = pydantic.Field(
        description="Null but for tasks with one training domain, and there without a model of it and a zero-shot one"
    )
    in_domain: tuple[InDomain, ...]
    shifts: tuple[Shift, ...]


class Missing(_Shape):
    """Something that was not there to be scored."""

    task: str
    source: str | None
    target: str | None
    what: str


class Scores(_Shape):
    """Scores of one prediction file."""

    benchmark: str
    data: str = pydantic.Field(description="Content hash of the dataset folder")
    partial_data: bool
    synthetic_data: bool
    subset: str
    metric_version: str
    depth_encoder: str | None = pydantic.Field(description="Encoder of the depths, id@revision; null without depths")
    token_encoder: str | None = pydantic.Field(description="Encoder of BERTScore's tokens; null where none was given")
    tasks: tuple[TaskScores, ...]
    missing: tuple[Missing, ...]
