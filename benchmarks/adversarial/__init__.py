"""Stress tests of intervals, tests and gates:

data from generators independent of the estimators, scored by the engine.
"""
