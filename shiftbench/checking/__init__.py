"""A user's own models and files: check, gate, label, forecast, claims.

In: files, tables and models of one's own. Out: results that commands print and notebooks show.
"""
