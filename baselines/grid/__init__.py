"""Grids: tasks x models x sources x seeds trained in one go, on this machine or on a Ray cluster.

A trial is one trained model in a process of its own, so that a crash costs one trial, and so that both engines do the
same (``child``). A trial that is done is never run again; what it is done with is in its folder's name (``trial``).
"""
