"""A task's statistics as a dataset folder keeps them: the records, where they lie, and reading them back.

What computes them is ``shiftbench.builders.statistics``.
"""

from pathlib import Path

import pydantic

from shiftbench.validation.vocabulary import TaskKind

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""Quantiles given of every length."""

SIMILAR = 0.8
"""Smallest Jaccard similarity of two texts' shingle sets that makes them near-duplicates."""

N_EXAMPLES = 5
"""Example pairs reported of each kind."""


class _Facts(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Repeats(_Facts):
    """Rows of one split of one domain that have a duplicate elsewhere; where, the field that holds this says.

    A row is counted once however many duplicates it has. It may count both as ``exact`` and as ``near``.

    Attributes:
        domain: the rows' domain.
        split: the rows' split.
        rows: rows there are, with a duplicate or without.
        exact: rows for which another row has equal inputs.
        near: rows for which a row of another group has inputs that differ, but are similar by at least ``SIMILAR``.
    """

    domain: str
    split: str
    rows: int
    exact: int
    near: int


class SplitRepeats(Repeats):
    """Rows of a split that have a duplicate in the split ``other`` of the same domain."""

    other: str


class Examples(_Facts):
    """Up to ``N_EXAMPLES`` pairs of ids: the row counted (the least ids first), and one duplicate that it has."""

    exact: tuple[tuple[str, str], ...] = ()
    near: tuple[tuple[str, str], ...] = ()


class DuplicateCounts(_Facts):
    """Repeats and near-repeats of a task's inputs.

    Attributes:
        within: of every domain and split, rows that have a duplicate in the same split of the same domain.
        across_splits: of every domain, test rows with a duplicate in train, validation rows with one in train, and
            test rows with one in validation; only pairs of splits that the domain has.
        across_domains: of every domain and split, rows that have a duplicate in any split of any other domain;
            empty when there is one domain.
        examples: of each of these, by its name.
        uncompared: pairs that were not compared because a bucket of look-alikes was too large, counted once for
            each band that they share. Above 0 the near counts may be too low.
    """

    within: tuple[Repeats, ...]
    across_splits: tuple[SplitRepeats, ...]
    across_domains: tuple[Repeats, ...]
    examples: dict[str, Examples]
    uncompared: int


class Lengths(_Facts):
    """Lengths of a split's texts, in words (tagging: in tokens).

    Attributes:
        mean: mean over the rows.
        sd: standard deviation of these rows (divided by their number).
        quantiles: at ``QUANTILES``, between two rows interpolated linearly.
    """

    mean: float
    sd: float
    quantiles: tuple[float, float, float, float, float, float, float]


class SplitStatistics(_Facts):
    """One split of one domain.

    Attributes:
        rows: its rows, at least 1.
        groups: its groups.
        labels: rows of each class by name, classes without a row included; empty unless classification.
        tags: tokens of each tag by name, likewise; empty unless tagging.
        unanswered: questions without an answer; None unless extractive QA.
        input_words: length of all inputs of a row together.
        target_words: length of the text to be generated; None unless generation.
    """

    rows: int
    groups: int
    labels: dict[str, int] = {}
    tags: dict[str, int] = {}
    unanswered: int | None = None
    input_words: Lengths
    target_words: Lengths | None = None

    @property
    def shares(self) -> dict[str, float]:
        """Return shares of classes, tags, or questions without and with an answer, in [0, 1]; empty for generation."""
        counts = self.labels or self.tags
        if self.unanswered is not None:
            counts = {"no answer": self.unanswered, "answer": self.rows - self.unanswered}
        total = sum(counts.values())
        return {name: count / total for name, count in counts.items()} if total else {}


class Annotators(_Facts):
    """What single annotators score on test texts, where upstream has their votes
    (``shiftbench.metrics.agreement``).

    Attributes:
        texts: test texts with two votes or more.
        votes: mean number of their votes.
        others: scores of an annotator against the majority of the others, by metric (accuracy, macro_f1), in [0, 1].
        gold: the same against the gold label, which the annotator's own vote helped to make.
    """

    texts: int
    votes: float
    others: dict[str, float]
    gold: dict[str, float]


class DomainStatistics(_Facts):
    """One domain.

    Attributes:
        splits: its splits.
        vocabulary: distinct words of its train inputs; None without a train split.
        unseen_test_share: share of the word occurrences of its test inputs whose word its train inputs lack, in
            [0, 1]; None without both splits or without a word in test.
        groups_in_several_splits: groups that more than one of its splits has.
        annotators: what single annotators score on its test texts; None where upstream has no votes.
    """

    splits: dict[str, SplitStatistics]
    vocabulary: int | None
    unseen_test_share: float | None
    groups_in_several_splits: int
    annotators: Annotators | None = None


Q_SOURCE_TEXTS, Q_TARGET_TEXTS = 500, 1_000
"""Sizes at which the Depth F1 paper's values of Q are those of its code; inferred from four of the eight."""


class PairDepth(_Facts):
    """How deep a target's test texts lie in a source (DF1 equations 1 and 8).

    Attributes:
        source: the source domain.
        target: the target domain; the source itself is given too, for comparison.
        q: chance that a train text of the source is no deeper in it than a test text of the target (equation 8), in
            [0, 1].
        q_reference: the same as the paper's authors compute it, from ranks in the pool of both; in [0, 1], comparable
            between pairs of equal ``n_source`` and ``n_target`` only. None in folders of builder version 0.1.0.
        n_source: train texts of the source; None likewise.
        n_target: test texts of the target; None likewise.
        mean_depth: mean depth of the target's test texts in the source, in [0, 2].
    """

    source: str
    target: str
    q: float
    q_reference: float | None = None
    n_source: int | None = None
    n_target: int | None = None
    mean_depth: float


class LengthDistance(_Facts):
    """The two domains whose targets differ most in length, in one split.

    Attributes:
        split: the split.
        domains: the two domains.
        distance: Kolmogorov-Smirnov distance of their target lengths in words, in [0, 1]: the largest difference
            between the shares of rows that are no longer than some length.
    """

    split: str
    domains: tuple[str, str]
    distance: float


class TaskStatistics(_Facts):
    """Statistics of one task.

    Attributes:
        kind: what is predicted.
        domains: by domain.
        divergence: Jensen-Shannon divergence in bits, in [0, 1], of the words of each two domains' train inputs (DR
            appendix A.1), by domain and domain, both ways and with itself (0). A domain without such a word is
            absent.
        depths: of every pair with a depth table; empty without an encoder.
        target_lengths: of every split that several domains have; empty unless generation.
        duplicates: repeats and near-repeats.
        no_answer_wanted: share of questions without an answer that the spec asks for, in [0, 1]; None where it
            asks for none.
    """

    kind: TaskKind
    domains: dict[str, DomainStatistics]
    divergence: dict[str, dict[str, float]]
    depths: tuple[PairDepth, ...]
    target_lengths: tuple[LengthDistance, ...]
    duplicates: DuplicateCounts
    no_answer_wanted: float | None


def picture_path(task: str) -> str:
    """Return the path of the picture of a task's statistics inside a dataset folder.

    >>> picture_path("sa")
    'statistics/sa.png'
    """
    return f"statistics/{task}.png"


def data_path(task: str) -> str:
    """Return the path of a task's statistics, as JSON, inside a dataset folder.

    >>> data_path("sa")
    'statistics/sa.json'
    """
    return f"statistics/{task}.json"


def read_statistics(folder: Path, task: str) -> TaskStatistics:
    """Read a task's statistics.

    Returns: the statistics as they were written.
    """
    return TaskStatistics.model_validate_json((folder / data_path(task)).read_text(encoding="utf-8"))
