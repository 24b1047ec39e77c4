"""Forecasts of a model's accuracy on a domain without labels: what they are made from, their intervals, how good
they are.

The methods are pure functions in ``shiftbench.metrics.forecasts``. Here predictions and texts become what
they take, their errors on labelled domains set intervals, and methods are compared. No method sees a change of what
labels mean (concept shift): ``CONCEPT_SHIFT`` says so wherever a forecast stands.
"""

CONCEPT_SHIFT = (
    "No method without labels sees a change of what labels mean (concept shift): "
    "there a forecast may be far off, and its interval with it."
)
