"""Formats of other tools: reading their logs, writing our tasks and results. No module here imports these tools.

log              what is kept of an evaluation log, whichever tool wrote it
lm_eval, inspect_ai, helm   readers of one tool's logs each, from its files alone
reader           opens any log: finds out which tool wrote it
comparison   logs of one benchmark as scores of the same items, tested and put into words
boards       a leaderboard's scores from tables (score_tables), folders and logs; ranking_claims: its ranks as a claim

eval_yaml          what the Hub and Inspect read of a published dataset: eval.yaml
figures            the figures of scores as a flat list, which all writers share
shared_entry       one entry as other tools see it; its figures as CSV
eval_results       results for a model's repository on the Hub
every_eval_ever    results for the Every Eval Ever datastore
"""
