"""Scores in words, tables, pictures and HTML files. Points (x100) exist only in here and in the leaderboard's pages.

verdict     scores in one sentence; tail_figures, margins, detectable, annotators: sentences on the worst true drop, the
            margin, the smallest detectable drop, human scores; above_line_part: effective robustness
score_parts everything about one task (with headline, shift_table, confidence_part, confidence_rows, home_advantage)
report_page these of a prediction file, as one HTML file (folder_report: of one for a dataset folder); card_part: a card
check_page  one model's scores by domain (with check_words, check_terminal); gate: a gate's decision
forecast_page  forecasts as HTML files (with forecast_words, forecast_terminal); forecast_comparison: as tables of text
plain_tables  scores and comparisons as small tables of text: for notebooks, and LaTeX; paper_table: that of a paper
plan_tables  what can be found before training
item_tables  models compared on the same items; claims: what checking a comparison again found
terminal    scores, comparisons and boards as tables for the terminal (with summary_rows)
exports     comparisons as CSV, LaTeX and BibTeX; compare_pictures: as pictures
pictures    SVG and matrices of one entry and task, or of several entries
frame       HTML that escapes everything, the style sheet, a report as one file
numbers, cells, intervals, titles   what several of these share

In: scores and comparisons. Out: HTML, SVG, CSV and tables for the terminal.
"""
