"""What a person types: checking, comparing, simulating, choosing, analysing; serving and sending; rounds.

In: arguments. Out: tables on the terminal, JSON, files.
"""
