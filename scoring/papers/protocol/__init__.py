"""Selection of a benchmark's data sets from candidates (BOSS paper, sec. 2.2 and appendix D), as software.

rule.py       the rule: a function from facts and scores to decisions
reported/     candidates from the paper's own tables
measured.py   candidates from a dataset folder and a prediction file
choice.py     the selection from either, in one schema: decisions with margins, intervals, selection frequencies
report.py     the result as tables and as a figure; ``run.py``: implementation of the command

Input: the paper's tables, or a dataset folder with predictions. Output: the selected data sets, with reasons.
"""
