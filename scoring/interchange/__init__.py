"""Formats of other tools: reading their logs, writing our tasks and results. No module here imports these tools.

log              what is kept of an evaluation log, whichever tool wrote it
lm_eval, inspect_ai, helm   readers of one tool's logs each, from its files alone
reader           opens any log: finds out which tool wrote it
joining          logs of one benchmark as scores of the same items; comparison: these tested and put into words

eval_yaml                       what the Hub and Inspect read of a published dataset: eval.yaml
figures                         the figures of scores as a flat list, which all writers share
eval_results, model_index       results for a model's repository on the Hub
every_eval_ever, every_eval_samples   results and single texts for the Every Eval Ever datastore
scores_csv                      figures as a table for a spreadsheet
pull_request                    sends such files to a repository
shared_entry                    one entry as other tools see it; archive: a zip archive from outside, read within limits
"""
