"""The pure functions of ``leaderboard.metrics`` under one name: arrays in, numbers out, fractions throughout.

What each module is about, and why it computes as it does: ``leaderboard/metrics/README.md``.
"""

from leaderboard.metrics.bootstrap import (
    interval,
    resolved_scenario,
    sampling_spread,
    scenario_support,
    split_half_worst,
    total_spread,
    worst_interval,
)
from leaderboard.metrics.classification import accuracy, confusion_counts, macro_f1, per_class_f1
from leaderboard.metrics.comparison import holm, rank_intervals, rank_stability, swap_test
from leaderboard.metrics.correlation import effective_robustness, fit_line, id_ood_shape, pearson, r_squared, spearman
from leaderboard.metrics.coverage import simulate_coverage
from leaderboard.metrics.depth import (
    depth_f1,
    depth_weights,
    effective_size,
    least_deep,
    pooled_q,
    q_reference,
    q_statistic,
    rank_sum_test,
    tte_depth,
    weighted_score,
)
from leaderboard.metrics.divergence import divergence_correlations, frequent_words, js_divergence, js_divergence_matrix
from leaderboard.metrics.drop_comparison import average_over_models, drops_by_difficulty, theorem_one
from leaderboard.metrics.generation import bert_score, rouge_l
from leaderboard.metrics.ledger import flip_counts, flip_ledger
from leaderboard.metrics.placebo import placebo_domains
from leaderboard.metrics.priors import (
    counts_at_prior,
    prior_fixed_accuracy,
    prior_fixed_macro_f1,
    prior_fixed_mean,
    prior_fixed_qa,
)
from leaderboard.metrics.qa import normalise_answers, qa_scores
from leaderboard.metrics.resampling import group_weights, half_weights, replicate_counts, run_weights
from leaderboard.metrics.robustness import (
    in_domain_difference,
    reference_target_drop,
    scenario,
    scenario_shares,
    shift_scores,
    source_drop,
    summarise,
    target_drop,
)
from leaderboard.metrics.significance import bonferroni, order_chi_square, scenario_chi_square, source_permutation_test
from leaderboard.metrics.tagging import span_counts, span_f1, spans, tag_notation, tag_scheme

__all__ = [
    "accuracy",
    "average_over_models",
    "bert_score",
    "bonferroni",
    "confusion_counts",
    "counts_at_prior",
    "depth_f1",
    "depth_weights",
    "divergence_correlations",
    "drops_by_difficulty",
    "effective_robustness",
    "effective_size",
    "fit_line",
    "flip_counts",
    "flip_ledger",
    "frequent_words",
    "group_weights",
    "half_weights",
    "holm",
    "id_ood_shape",
    "in_domain_difference",
    "interval",
    "js_divergence",
    "js_divergence_matrix",
    "least_deep",
    "macro_f1",
    "normalise_answers",
    "order_chi_square",
    "pearson",
    "per_class_f1",
    "placebo_domains",
    "pooled_q",
    "prior_fixed_accuracy",
    "prior_fixed_macro_f1",
    "prior_fixed_mean",
    "prior_fixed_qa",
    "q_reference",
    "q_statistic",
    "qa_scores",
    "r_squared",
    "rank_intervals",
    "rank_stability",
    "rank_sum_test",
    "reference_target_drop",
    "replicate_counts",
    "resolved_scenario",
    "rouge_l",
    "run_weights",
    "sampling_spread",
    "scenario",
    "scenario_chi_square",
    "scenario_shares",
    "scenario_support",
    "shift_scores",
    "simulate_coverage",
    "source_drop",
    "source_permutation_test",
    "span_counts",
    "span_f1",
    "spans",
    "spearman",
    "split_half_worst",
    "summarise",
    "swap_test",
    "tag_notation",
    "tag_scheme",
    "target_drop",
    "theorem_one",
    "total_spread",
    "tte_depth",
    "weighted_score",
    "worst_interval",
]
