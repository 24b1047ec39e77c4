"""The shape of what ``shiftbench check`` finds of one model: its scores by domain, and the conclusions.

Values are fractions, unrounded; ``low`` and ``high`` bound 95% intervals over other test texts, the model as it is.
"""

import pydantic

from shiftbench.scoring.scores.confidence_shape import ConfidenceFigures
from shiftbench.scoring.scores.estimate import Estimate, Record
from shiftbench.scoring.scores.shape import FloorLevels


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
