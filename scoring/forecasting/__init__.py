"""Forecasts of a model's accuracy on a domain without labels: inputs, intervals, and evaluation.

The methods are pure functions in ``shiftbench.metrics.forecasts``. This package builds their inputs from predictions
and texts, calibrates intervals on errors on labelled domains, and compares methods. No method can detect concept shift
(a change of the labels' meaning): ``CONCEPT_SHIFT`` is shown with every forecast.
"""

CONCEPT_SHIFT = (
    "No method without labels can detect a change in the meaning of labels (concept shift), for which forecasts and "
    "intervals may be far off."
)
