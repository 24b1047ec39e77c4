"""Metrics, scoring, store, views and the page, in that order of import."""
