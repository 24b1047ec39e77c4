"""Choosing a benchmark's data sets from candidates (BOSS paper, sec. 2.2 and appendix D), as software.

rule.py       the rule: facts and scores in, decisions out
reported/     candidates from the paper's own tables
measured.py   candidates from a dataset folder and a prediction file
choice.py     both into one shape: decisions with margins, intervals and frequencies
report.py     the shape as tables and as a picture, ``run.py`` the command's work

In: the paper's tables, or a dataset folder with predictions. Out: the data sets chosen, and what decided.
"""
