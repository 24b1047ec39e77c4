"""Scores in words, tables, pictures and HTML files. Points (x100) exist only in here and in the leaderboard's pages.

A command lists sentences and tables once (``..._lines``); ``plain_tables`` writes them for a terminal, as Markdown, as
LaTeX and as a report. Pages and reports of scores are templates (``frame``), given what ``task_page`` and
``comparison`` hold.

score_words  sentences on scores: what they come to, whether a drop is real, the margin, the smallest detectable drop
terminal     scores, comparisons and checked claims
check        one model's scores by domain (with slice_words, time_words); gate: a gate's decision
forecast     forecasts, and the methods beside each other; plan_tables: what can be found before training
paper_table  the table of a paper; item_tables, rank_tables: models on the same items, a leaderboard's ranks
task_page    everything about one task (with confidence); comparison: two entries or more; report_page: both as files
exports      comparisons as CSV and BibTeX
pictures     SVG; frame: HTML that escapes everything, the style sheet, a report as one file
numbers, titles  what several of these share

In: scores and comparisons. Out: HTML, SVG, CSV and tables for the terminal.
"""
