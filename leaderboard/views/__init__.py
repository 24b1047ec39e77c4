"""What is shown, made by pure functions from scores and entries. Points (x100) exist only in here.

board_page  the board: its form, one page of rows, the legend
board_query what a reader asks of a board, and the rows that answer
board_data  a board's rows as JSON and CSV
board_columns, board_cells, intervals   columns, cells and the small pictures in them
reported    figures that papers report, below a board's rows
answer      the submit page's words, and what a check, a submission or a withdrawal answered
entry_page  an entry: headline, pictures, tables, examples (with headline, score_parts, shift_table)
beyond_means  sentences on the worst true drop, the next domain, strict tags; above_line_part: effective robustness
report_page the same of a prediction file, as one HTML file (folder_report: of one for a dataset folder)
released_page  an entry on withheld labels: its card, and what rounds released
plain_tables  scores and comparisons as small tables of text: what a notebook shows, and LaTeX
item_tables  models compared on the same items; claims: what checking a comparison again found
terminal    scores, comparisons, boards and rounds as tables for the terminal
pictures    SVG and matrices of one entry and task, or of several entries
compare_page  2 to 4 entries against each other (with compare_pictures, exports); pairwise_part: up to 12 in pairs
data_page   a task's domains: sizes, divergences, depths, sources
about_page  what is measured, and how programs ask for it
site        the shell of every page, the style sheet (css) and the script
addresses   where each page is: the only place that spells it
html        elements and templates that escape everything; numbers, cells, notices: what several pages share
templates   the shells of pages and their forms, as Jinja2; what depends on scores is written by code

In: scores, entries, boards. Out: HTML, SVG, CSV and tables for the terminal.
"""
