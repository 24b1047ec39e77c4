"""Statistics of a task stored in a dataset folder: schema, paths and reader.

They are computed in ``shiftbench.builders.statistics``.
"""

from pathlib import Path

import pydantic

from shiftbench.validation.vocabulary import TaskKind

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""Quantile levels reported for lengths."""

SIMILAR = 0.8
"""Smallest Jaccard similarity of two texts' shingle sets that makes them near-duplicates."""

N_EXAMPLES = 5
"""Maximum number of example pairs per kind of duplicate."""


class _Facts(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Repeats(_Facts):
    """Number of rows with a duplicate, for one split of one domain; the containing field defines where.

    A row is counted once however many duplicates it has. It may count both as ``exact`` and as ``near``.

    Attributes:
        domain: the rows' domain.
        split: the rows' split.
        rows: number of rows of the split.
        exact: number of rows whose inputs equal those of another row.
        near: number of rows with a near-duplicate: a row of another group with different inputs, of similarity at least
            ``SIMILAR``.
    """

    domain: str
    split: str
    rows: int
    exact: int
    near: int


class SplitRepeats(Repeats):
    """Number of rows of a split that have a duplicate in the split ``other`` of the same domain."""

    other: str


class Examples(_Facts):
    """Up to ``N_EXAMPLES`` pairs of ids: the counted row (smallest ids first) and one of its duplicates."""

    exact: tuple[tuple[str, str], ...] = ()
    near: tuple[tuple[str, str], ...] = ()


class DuplicateCounts(_Facts):
    """Repeats and near-repeats of a task's inputs.

    Attributes:
        within: rows with a duplicate in the same split and domain, for every domain and split.
        across_splits: test rows with a duplicate in train, validation rows with one in train, and test rows with one in
            validation, for every domain that has both splits.
        across_domains: rows with a duplicate in any split of any other domain, for every domain and split; empty if
            there is only one domain.
        examples: examples of each of these, by field name.
        uncompared: candidate pairs that were not compared because their LSH bucket was too large, counted once per
            shared band. If above 0, the near counts may be too low.
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
        sd: population standard deviation (ddof 0).
        quantiles: quantiles at ``QUANTILES``, with linear interpolation.
    """

    mean: float
    sd: float
    quantiles: tuple[float, float, float, float, float, float, float]


class SplitStatistics(_Facts):
    """One split of one domain.

    Attributes:
        rows: number of rows, at least 1.
        groups: number of groups.
        labels: number of rows by class, including classes without rows; empty unless classification.
        tags: number of tokens by tag, including unused tags; empty unless tagging.
        unanswered: number of questions without an answer; None unless extractive QA.
        input_words: total length of a row's inputs.
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
        """Return the proportions of classes, tags, or answered questions, in [0, 1]; empty for generation."""
        counts = self.labels or self.tags
        if self.unanswered is not None:
            counts = {"no answer": self.unanswered, "answer": self.rows - self.unanswered}
        total = sum(counts.values())
        return {name: count / total for name, count in counts.items()} if total else {}


class Annotators(_Facts):
    """Scores of single annotators on test texts, if upstream publishes their votes (``shiftbench.metrics.agreement``).

    Attributes:
        texts: number of test texts with at least two votes.
        votes: mean number of votes per text.
        others: scores of an annotator against the majority of the others, by metric (accuracy, macro_f1), in [0, 1].
        gold: the same against the gold label, which includes the annotator's own vote.
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
        unseen_test_share: out-of-vocabulary rate: proportion of word tokens in its test inputs that do not occur in its
            train inputs, in [0, 1]; None without both splits or without a word in test.
        groups_in_several_splits: number of groups that occur in more than one split.
        annotators: scores of single annotators on its test texts; None if upstream has no votes.
    """

    splits: dict[str, SplitStatistics]
    vocabulary: int | None
    unseen_test_share: float | None
    groups_in_several_splits: int
    annotators: Annotators | None = None


Q_SOURCE_TEXTS, Q_TARGET_TEXTS = 500, 1_000
"""Sample sizes at which the paper's code reproduces its values of Q; inferred from four of the paper's eight values."""


class PairDepth(_Facts):
    """Depth of a target's test texts in a source (DF1 equations 1 and 8).

    Attributes:
        source: the source domain.
        target: the target domain; may be the source itself, for comparison.
        q: probability that a train text of the source is no deeper in it than a test text of the target (equation 8),
            in [0, 1].
        q_reference: Q as the paper's authors compute it, from ranks in the pooled texts; in [0, 1], only comparable
            between pairs with equal ``n_source`` and ``n_target``. None in folders of builder version 0.1.0.
        n_source: number of train texts of the source; None in folders of builder version 0.1.0.
        n_target: number of test texts of the target; None in folders of builder version 0.1.0.
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
            between the cumulative distributions.
    """

    split: str
    domains: tuple[str, str]
    distance: float


class TaskStatistics(_Facts):
    """Statistics of one task.

    Attributes:
        kind: the task kind.
        domains: statistics by domain.
        divergence: Jensen-Shannon divergence in bits, in [0, 1], between the word distributions of two domains' train
            inputs (DR appendix A.1), by first and second domain; symmetric, with diagonal 0. Domains without words are
            absent.
        depths: one entry per pair with a depth table; empty without an encoder.
        target_lengths: one entry per split that several domains have; empty unless generation.
        duplicates: repeats and near-repeats.
        no_answer_wanted: proportion of unanswerable questions required by the spec, in [0, 1]; None if the spec
            does not set one.
    """

    kind: TaskKind
    domains: dict[str, DomainStatistics]
    divergence: dict[str, dict[str, float]]
    depths: tuple[PairDepth, ...]
    target_lengths: tuple[LengthDistance, ...]
    duplicates: DuplicateCounts
    no_answer_wanted: float | None


def picture_path(task: str) -> str:
    """Return the path of the plot of a task's statistics inside a dataset folder.

    >>> picture_path("sa")
    'statistics/sa.png'
    """
    return f"statistics/{task}.png"


def data_path(task: str) -> str:
    """Return the path of the JSON file with a task's statistics inside a dataset folder.

    >>> data_path("sa")
    'statistics/sa.json'
    """
    return f"statistics/{task}.json"


def read_statistics(folder: Path, task: str) -> TaskStatistics:
    """Read a task's statistics.

    Args:
        folder: the dataset folder.
        task: the task; placebo tasks have none.
    """
    return TaskStatistics.model_validate_json((folder / data_path(task)).read_text(encoding="utf-8"))
