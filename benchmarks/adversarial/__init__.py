"""An attack on the intervals, tests and gates: data drawn apart from the estimators, scored by the engine itself."""
