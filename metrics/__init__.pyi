"""The functions of this package by name; each is imported when it is first used."""

from .correlation import (
    against_others as against_others,
    baseline_line as baseline_line,
    effective_interval as effective_interval,
    one_against_others as one_against_others,
)
from .domain_order import (
    order_boards as order_boards,
)
from .label_budget import (
    anticipate as anticipate,
    expected_interval as expected_interval,
    label_value as label_value,
    share_budget as share_budget,
    spend_labels as spend_labels,
    texts_within as texts_within,
)
from .label_sampling import (
    sampled_accuracy as sampled_accuracy,
)
from .agreement import (
    annotator_tables as annotator_tables,
)
from .calibration import (
    bin_counts as bin_counts,
    brier_limits as brier_limits,
    brier_scores as brier_scores,
    calibration_limits as calibration_limits,
    equal_mass_bins as equal_mass_bins,
    overconfidence as overconfidence,
    squared_calibration_error as squared_calibration_error,
    top_label_brier_scores as top_label_brier_scores,
)
from .classification import (
    accuracy as accuracy,
    confusion_counts as confusion_counts,
    macro_f1 as macro_f1,
    per_class_f1 as per_class_f1,
)
from .ranking import (
    failed_runs as failed_runs,
    holm as holm,
    rank_stability as rank_stability,
    share_at_most as share_at_most,
)
from .correlation import (
    effective_robustness as effective_robustness,
    fit_line as fit_line,
    id_ood_shape as id_ood_shape,
    pearson as pearson,
    r_squared as r_squared,
    spearman as spearman,
)
from .depth import (
    depth_f1 as depth_f1,
    depth_weights as depth_weights,
    effective_size as effective_size,
    least_deep as least_deep,
    pooled_q as pooled_q,
    q_reference as q_reference,
    q_statistic as q_statistic,
    rank_sum_test as rank_sum_test,
    tte_depth as tte_depth,
    weighted_score as weighted_score,
)
from .difficulty import (
    agreed as agreed,
    difficulty_verdict as difficulty_verdict,
)
from .divergence import (
    divergence_correlations as divergence_correlations,
    frequent_words as frequent_words,
    js_divergence as js_divergence,
    js_divergence_matrix as js_divergence_matrix,
)
from .drop_comparison import (
    average_over_models as average_over_models,
    drops_by_difficulty as drops_by_difficulty,
    theorem_one as theorem_one,
)
from .new_domain import (
    interval_score as interval_score,
    mean_by_domain as mean_by_domain,
    paired_test as paired_test,
    skill as skill,
)
from .domain_order import (
    judge_order as judge_order,
    separated as separated,
)
from .forecasts import (
    difference_of_confidences as difference_of_confidences,
    less_mean_error as less_mean_error,
    source_accuracy as source_accuracy,
    thresholded_confidence as thresholded_confidence,
    transported_confidence as transported_confidence,
)
from .generation import (
    bert_score as bert_score,
    rouge_l as rouge_l,
)
from .new_domain import (
    coverage_by_domain as coverage_by_domain,
    domain_quantile as domain_quantile,
    interval_level as interval_level,
)
from .label_sampling import (
    confidence_correlation as confidence_correlation,
    draw_groups as draw_groups,
    draw_probabilities as draw_probabilities,
    enough_expected as enough_expected,
    expected_width as expected_width,
    group_values as group_values,
)
from .priors import (
    adjust_to_prior as adjust_to_prior,
    fit_temperature as fit_temperature,
)
from .ledger import (
    flip_counts as flip_counts,
    flip_ledger as flip_ledger,
)
from .precision import (
    residual_variance as residual_variance,
    unknown_share as unknown_share,
    effective_groups as effective_groups,
    sum_by_group as sum_by_group,
    exact_p as exact_p,
)
from .new_domain import (
    next_domain as next_domain,
)
from .placebo import (
    placebo_domains as placebo_domains,
)
from .power import (
    expected_design_effect as expected_design_effect,
    groups_with as groups_with,
    minimum_detectable as minimum_detectable,
)
from .precision import (
    class_df as class_df,
    class_size as class_size,
    effective_n as effective_n,
    group_influences as group_influences,
    influence_correlation as influence_correlation,
    satterthwaite as satterthwaite,
    slopes as slopes,
    square_of_interval as square_of_interval,
    student as student,
    wilson_limits as wilson_limits,
)
from .priors import (
    counts_at_prior as counts_at_prior,
    prior_fixed_accuracy as prior_fixed_accuracy,
    prior_fixed_macro_f1 as prior_fixed_macro_f1,
    prior_fixed_mean as prior_fixed_mean,
    prior_fixed_qa as prior_fixed_qa,
)
from .qa import (
    normalise_answers as normalise_answers,
    qa_scores as qa_scores,
)
from .ranking import (
    rank_intervals as rank_intervals,
    rank_units as rank_units,
    run_spread as run_spread,
)
from .robustness import (
    in_domain_difference as in_domain_difference,
    reference_target_drop as reference_target_drop,
    scenario as scenario,
    scenario_shares as scenario_shares,
    shift_scores as shift_scores,
    source_drop as source_drop,
    summarise as summarise,
    target_drop as target_drop,
)
from .selective import (
    excess_aurc as excess_aurc,
    failure_auroc as failure_auroc,
    risk_coverage as risk_coverage,
)
from .drop_comparison import (
    bonferroni as bonferroni,
    order_chi_square as order_chi_square,
    scenario_chi_square as scenario_chi_square,
)
from .depth import (
    depth_slope as depth_slope,
    mean_slope as mean_slope,
)
from .tagging import (
    span_counts as span_counts,
    span_f1 as span_f1,
    spans as spans,
    tag_notation as tag_notation,
    tag_scheme as tag_scheme,
)
from .over_time import (
    between_variance as between_variance,
    change_point as change_point,
    period_means as period_means,
    trend as trend,
    variance_of_texts as variance_of_texts,
    weighted_fit as weighted_fit,
)
from .components import (
    other_prompts_of_each as other_prompts_of_each,
    variance_components as variance_components,
    with_other_prompt as with_other_prompt,
)
from .alarm import (
    drop_evidence as drop_evidence,
)
from .slices import (
    draw_half as draw_half,
    join_groups as join_groups,
    search_rules as search_rules,
    typical_words as typical_words,
)
