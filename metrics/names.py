"""The pure functions of ``shiftbench.metrics`` under one name: arrays in, numbers out, fractions
throughout.

What each module is about, and why it computes as it does: ``metrics/README.md``.
"""

from shiftbench.metrics.above_line import (
    against_others,
    baseline_line,
    effective_interval,
    one_against_others,
)
from shiftbench.metrics.accuracy_from_samples import sampled_accuracy
from shiftbench.metrics.agreement import annotator_tables
from shiftbench.metrics.bootstrap import (
    interval,
    sampling_spread,
    scenario_support,
    split_half_worst,
    training_spread,
)
from shiftbench.metrics.calibration import (
    bin_counts,
    brier_scores,
    equal_mass_bins,
    overconfidence,
    squared_calibration_error,
    top_label_brier_scores,
)
from shiftbench.metrics.classification import accuracy, confusion_counts, macro_f1, per_class_f1
from shiftbench.metrics.comparison import flip_signs, holm, rank_stability, swap_test
from shiftbench.metrics.correlation import (
    effective_robustness,
    fit_line,
    id_ood_shape,
    pearson,
    r_squared,
    spearman,
)
from shiftbench.metrics.crossed import crossed_test, influences, paired_influences, residual_variance
from shiftbench.metrics.depth import (
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
from shiftbench.metrics.difficulty import difficulty_verdict
from shiftbench.metrics.divergence import (
    divergence_correlations,
    frequent_words,
    js_divergence,
    js_divergence_matrix,
)
from shiftbench.metrics.drop_comparison import average_over_models, drops_by_difficulty, theorem_one
from shiftbench.metrics.equivalence import check_margin, equivalence_p
from shiftbench.metrics.forecast_errors import interval_score, mean_by_domain, paired_test, skill
from shiftbench.metrics.forecasts.agreement_line import agreement_on_the_line
from shiftbench.metrics.forecasts.average import average_forecast
from shiftbench.metrics.forecasts.average_confidence import average_confidence
from shiftbench.metrics.forecasts.black_box_shift import accuracy_at_shares, black_box_shares, joint_counts
from shiftbench.metrics.forecasts.depth_curve import score_by_depth
from shiftbench.metrics.forecasts.difference_of_confidences import difference_of_confidences
from shiftbench.metrics.forecasts.disagreement import agreement_of_seeds
from shiftbench.metrics.forecasts.divergence_line import score_by_divergence
from shiftbench.metrics.forecasts.expected_confusion import expected_confusion, expected_macro_f1
from shiftbench.metrics.forecasts.importance_weighting import importance_weighted, importance_weights
from shiftbench.metrics.forecasts.mean_drop import less_mean_drop
from shiftbench.metrics.forecasts.nuclear_norm import accuracy_by_norm, nuclear_norm
from shiftbench.metrics.forecasts.optimal_transport import transported_confidence
from shiftbench.metrics.forecasts.prior_by_em import shares_by_em
from shiftbench.metrics.forecasts.source_accuracy import source_accuracy
from shiftbench.metrics.forecasts.thresholded_confidence import thresholded_confidence
from shiftbench.metrics.generation import bert_score, rouge_l
from shiftbench.metrics.hierarchical_conformal import coverage_by_domain, domain_quantile, interval_level
from shiftbench.metrics.in_domain_advantage import home_advantage, home_weights, on_scale
from shiftbench.metrics.label_sampling import (
    confidence_correlation,
    draw_groups,
    draw_probabilities,
    enough_expected,
    expected_width,
    group_values,
)
from shiftbench.metrics.label_shift import adjust_to_prior, fit_temperature, label_shift_parts
from shiftbench.metrics.ledger import flip_counts, flip_ledger
from shiftbench.metrics.limits import exact_p, limit_p
from shiftbench.metrics.mover import combined_interval, p_of_interval, replicate_correlation, worst_interval
from shiftbench.metrics.multiplicity import draw_sizes, least_draws, normal_sizes, pass_on, step_down
from shiftbench.metrics.new_domain import next_domain
from shiftbench.metrics.placebo import placebo_domains
from shiftbench.metrics.power import (
    mean_drop_variance,
    minimum_detectable,
    source_drop_variance,
    target_drop_variance,
)
from shiftbench.metrics.priors import (
    counts_at_prior,
    prior_fixed_accuracy,
    prior_fixed_macro_f1,
    prior_fixed_mean,
    prior_fixed_qa,
)
from shiftbench.metrics.qa import normalise_answers, qa_scores
from shiftbench.metrics.ranking import rank_intervals, run_spread
from shiftbench.metrics.resampling import group_weights, half_weights, replicate_counts
from shiftbench.metrics.resolution import resolved_scenario
from shiftbench.metrics.robustness import (
    in_domain_difference,
    reference_target_drop,
    scenario,
    scenario_shares,
    shift_scores,
    source_drop,
    summarise,
    target_drop,
)
from shiftbench.metrics.selective import excess_aurc, failure_auroc, risk_coverage
from shiftbench.metrics.significance import bonferroni, order_chi_square, scenario_chi_square
from shiftbench.metrics.slopes import depth_slope, mean_slope
from shiftbench.metrics.tagging import span_counts, span_f1, spans, tag_notation, tag_scheme
from shiftbench.metrics.wilson import (
    effective_n,
    intraclass_correlation,
    relative_square,
    run_moments,
    square_of_interval,
    square_of_mean,
    wilson_interval,
)
from shiftbench.metrics.worst import posterior_worst

__all__ = [
    "accuracy",
    "accuracy_at_shares",
    "accuracy_by_norm",
    "adjust_to_prior",
    "against_others",
    "agreement_of_seeds",
    "agreement_on_the_line",
    "annotator_tables",
    "average_confidence",
    "average_forecast",
    "average_over_models",
    "baseline_line",
    "bert_score",
    "bin_counts",
    "black_box_shares",
    "bonferroni",
    "brier_scores",
    "check_margin",
    "combined_interval",
    "confidence_correlation",
    "confusion_counts",
    "counts_at_prior",
    "coverage_by_domain",
    "crossed_test",
    "depth_f1",
    "depth_slope",
    "depth_weights",
    "difference_of_confidences",
    "difficulty_verdict",
    "divergence_correlations",
    "domain_quantile",
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
    "expected_confusion",
    "expected_macro_f1",
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
    "importance_weighted",
    "importance_weights",
    "in_domain_difference",
    "influences",
    "interval",
    "interval_level",
    "interval_score",
    "intraclass_correlation",
    "joint_counts",
    "js_divergence",
    "js_divergence_matrix",
    "label_shift_parts",
    "least_deep",
    "least_draws",
    "less_mean_drop",
    "limit_p",
    "macro_f1",
    "mean_by_domain",
    "mean_drop_variance",
    "mean_slope",
    "minimum_detectable",
    "next_domain",
    "normal_sizes",
    "normalise_answers",
    "nuclear_norm",
    "on_scale",
    "one_against_others",
    "order_chi_square",
    "overconfidence",
    "p_of_interval",
    "paired_influences",
    "paired_test",
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
    "score_by_depth",
    "score_by_divergence",
    "shares_by_em",
    "shift_scores",
    "skill",
    "source_accuracy",
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
    "thresholded_confidence",
    "top_label_brier_scores",
    "training_spread",
    "transported_confidence",
    "tte_depth",
    "weighted_score",
    "wilson_interval",
    "worst_interval",
]
