"""Scores in words, tables, pictures and HTML files. Points (x100) exist only in here and in the leaderboard's pages.

score_words sentences on scores: what they come to, whether a drop is real, the margin, the smallest detectable drop
task_page   everything about one task (with confidence): an entry's page and reports; comparison: two entries or more
report_page these of a prediction file, as one HTML file
check       one model's scores by domain; gate: a gate's decision
forecast    forecasts as sentences, tables and HTML files
plain_tables  tables of text for terminals, notebooks, LaTeX and Markdown; paper_table: that of a paper
plan_tables  what can be found before training
item_tables  models compared on the same items; rank_tables: a leaderboard's ranks
terminal    scores, comparisons, boards and checked claims as lines and tables for the terminal
exports     comparisons as CSV, LaTeX and BibTeX
pictures    SVG and matrices of one entry and task, or of several entries
frame       HTML that escapes everything, the style sheet, a report as one file
numbers, cells, intervals, titles   what several of these share; a card

In: scores and comparisons. Out: HTML, SVG, CSV and tables for the terminal.
"""
