"""Scores as text, tables, plots and HTML files. Points (x100) occur only here and in the leaderboard's pages.

The functions ``..._lines`` list a command's output as sentences and tables, which ``plain_tables`` converts to terminal
text, Markdown, LaTeX or a report. Sentences are macros of text files; pages and reports of scores are
templates (``frame``), filled from ``task_page`` and ``comparison``.

score_words  sentences on scores: summary, whether a drop is significant, the margin, the smallest detectable drop
terminal     scores, comparisons and checked claims
check        one model's scores by domain; gate: a gate's decision
forecast     forecasts, and a comparison of methods; plan_tables: power analysis before training
paper_table  the table of a paper; item_tables, rank_tables: models on the same items, a leaderboard's ranks
task_page    all results on one task (with confidence); comparison: two entries or more; report_page: both as files
pictures     SVG; frame: templates of HTML and of sentences, the style sheet, a report as one file
numbers, titles  shared formatting

Input: scores and comparisons. Output: HTML, SVG, CSV and tables for the terminal.
"""
