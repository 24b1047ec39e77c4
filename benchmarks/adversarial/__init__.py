"""Stress tests of intervals, tests and gates, on data from generators that are independent of the estimators."""
