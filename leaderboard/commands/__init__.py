"""What a person types: checking, comparing, simulating, choosing, analysing; serving and sending.

In: arguments. Out: tables on the terminal, JSON, files.
"""
