"""Forecasts of a model's accuracy on a domain without labels: inputs, intervals, and evaluation.

The methods are pure functions in ``shiftbench.metrics.forecasts``. This package builds their inputs from predictions
and texts, calibrates intervals on errors on labelled domains, and compares methods. No method can detect concept shift
(a change of the labels' meaning): ``CONCEPT_SHIFT`` is shown with every forecast.
"""

CONCEPT_SHIFT = (
    "No method without labels sees a change of what labels mean (concept shift): "
    "there a forecast may be far off, and its interval with it."
)
