"""Formats of other tools: readers of their logs, writers of tasks and results. No module here imports these tools.

log              common representation of an evaluation log of any tool
lm_eval, inspect_ai, helm   readers of one tool's logs each, from its files only
reader           opens any log, detecting the tool that wrote it
comparison   logs of one benchmark as scores on the same items, tested and summarised
boards       scores of a board from tables (score_tables), folders or logs; ranking_claims: its ranking as a claim
eval_yaml          eval.yaml of a published dataset, read by the Hub and by Inspect
figures            the values of scores as a flat list, shared by all writers
shared_entry       an entry prepared for export; its values as CSV
eval_results       results for a model's repository on the Hub
every_eval_ever    results for the Every Eval Ever datastore
"""
