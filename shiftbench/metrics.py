"""The pure functions of ``leaderboard.metrics`` under one name: arrays in, numbers out, fractions throughout.

What each module is about, and why it computes as it does: ``leaderboard/metrics/README.md``.
"""

from leaderboard.metrics.agreement import annotator_tables
from leaderboard.metrics.baseline_line import against_others, baseline_line, effective_interval, one_against_others
from leaderboard.metrics.bootstrap import (
    interval,
    sampling_spread,
    scenario_support,
    split_half_worst,
    training_spread,
)
from leaderboard.metrics.calibration import (
    bin_counts,
    brier_scores,
    equal_mass_bins,
    overconfidence,
    squared_calibration_error,
    top_label_brier_scores,
)
from leaderboard.metrics.classification import accuracy, confusion_counts, macro_f1, per_class_f1
from leaderboard.metrics.comparison import flip_signs, holm, rank_stability, swap_test
from leaderboard.metrics.correlation import effective_robustness, fit_line, id_ood_shape, pearson, r_squared, spearman
from leaderboard.metrics.crossed import crossed_test, influences, paired_influences, residual_variance
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
from leaderboard.metrics.depth_slope import depth_slope, mean_slope
from leaderboard.metrics.difficulty_verdict import difficulty_verdict
from leaderboard.metrics.divergence import divergence_correlations, frequent_words, js_divergence, js_divergence_matrix
from leaderboard.metrics.drop_comparison import average_over_models, drops_by_difficulty, theorem_one
from leaderboard.metrics.equivalence import check_margin, equivalence_p
from leaderboard.metrics.generation import bert_score, rouge_l
from leaderboard.metrics.home_advantage import home_advantage, home_weights, on_scale
from leaderboard.metrics.label_sampling import (
    confidence_correlation,
    draw_groups,
    draw_probabilities,
    enough_expected,
    expected_width,
    group_values,
)
from leaderboard.metrics.label_shift import adjust_to_prior, fit_temperature, label_shift_parts
from leaderboard.metrics.ledger import flip_counts, flip_ledger
from leaderboard.metrics.limits import exact_p, limit_p
from leaderboard.metrics.mover import combined_interval, p_of_interval, replicate_correlation, worst_interval
from leaderboard.metrics.multiplicity import draw_sizes, least_draws, normal_sizes, pass_on, step_down
from leaderboard.metrics.new_domain import next_domain
from leaderboard.metrics.placebo import placebo_domains
from leaderboard.metrics.power import (
    mean_drop_variance,
    minimum_detectable,
    source_drop_variance,
    target_drop_variance,
)
from leaderboard.metrics.priors import (
    counts_at_prior,
    prior_fixed_accuracy,
    prior_fixed_macro_f1,
    prior_fixed_mean,
    prior_fixed_qa,
)
from leaderboard.metrics.qa import normalise_answers, qa_scores
from leaderboard.metrics.ranking import rank_intervals, run_spread
from leaderboard.metrics.resampling import group_weights, half_weights, replicate_counts
from leaderboard.metrics.resolution import resolved_scenario
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
from leaderboard.metrics.sampled_accuracy import sampled_accuracy
from leaderboard.metrics.selective import excess_aurc, failure_auroc, risk_coverage
from leaderboard.metrics.significance import bonferroni, order_chi_square, scenario_chi_square
from leaderboard.metrics.tagging import span_counts, span_f1, spans, tag_notation, tag_scheme
from leaderboard.metrics.wilson import (
    effective_n,
    intraclass_correlation,
    relative_square,
    run_moments,
    square_of_interval,
    square_of_mean,
    wilson_interval,
)
from leaderboard.metrics.worst import posterior_worst

__all__ = [
    "accuracy",
    "adjust_to_prior",
    "against_others",
    "annotator_tables",
    "average_over_models",
    "baseline_line",
    "bert_score",
    "bin_counts",
    "bonferroni",
    "brier_scores",
    "check_margin",
    "combined_interval",
    "confidence_correlation",
    "confusion_counts",
    "counts_at_prior",
    "crossed_test",
    "depth_f1",
    "depth_slope",
    "depth_weights",
    "difficulty_verdict",
    "divergence_correlations",
    "draw_groups",
    "draw_probabilities",
    "draw_sizes",
    "drops_by_difficulty",
    "effective_interval",
    "effective_n",
    "effective_robustness",
    "effective_size",
    "enough_expected",
    "equal_mass_bins",
    "equivalence_p",
    "exact_p",
    "excess_aurc",
    "expected_width",
    "failure_auroc",
    "fit_line",
    "fit_temperature",
    "flip_counts",
    "flip_ledger",
    "flip_signs",
    "frequent_words",
    "group_values",
    "group_weights",
    "half_weights",
    "holm",
    "home_advantage",
    "home_weights",
    "id_ood_shape",
    "in_domain_difference",
    "influences",
    "interval",
    "intraclass_correlation",
    "js_divergence",
    "js_divergence_matrix",
    "label_shift_parts",
    "least_deep",
    "least_draws",
    "limit_p",
    "macro_f1",
    "mean_drop_variance",
    "mean_slope",
    "minimum_detectable",
    "next_domain",
    "normal_sizes",
    "normalise_answers",
    "on_scale",
    "one_against_others",
    "order_chi_square",
    "overconfidence",
    "p_of_interval",
    "paired_influences",
    "pass_on",
    "pearson",
    "per_class_f1",
    "placebo_domains",
    "pooled_q",
    "posterior_worst",
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
    "relative_square",
    "replicate_correlation",
    "replicate_counts",
    "residual_variance",
    "resolved_scenario",
    "risk_coverage",
    "rouge_l",
    "run_moments",
    "run_spread",
    "sampled_accuracy",
    "sampling_spread",
    "scenario",
    "scenario_chi_square",
    "scenario_shares",
    "scenario_support",
    "shift_scores",
    "source_drop",
    "source_drop_variance",
    "span_counts",
    "span_f1",
    "spans",
    "spearman",
    "split_half_worst",
    "square_of_interval",
    "square_of_mean",
    "squared_calibration_error",
    "step_down",
    "summarise",
    "swap_test",
    "tag_notation",
    "tag_scheme",
    "target_drop",
    "target_drop_variance",
    "theorem_one",
    "top_label_brier_scores",
    "training_spread",
    "tte_depth",
    "weighted_score",
    "wilson_interval",
    "worst_interval",
]
