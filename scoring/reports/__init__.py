"""What is shown, made by pure functions from scores and entries. Points (x100) exist only in here.

board_page  the board: its form, one page of rows, the legend (with board_fragment, board_answer, board_chooser,
            board_notes; table_parts, scatter_part, links: shared with the overall board)
overall_page  the front page: a benchmark's overall board (with overall_query; query: what both questions share)
board_query what a reader asks of a board, and the rows that answer
board_data  a board's rows as JSON and CSV
board_columns, board_cells   columns, cells and the small pictures in them
reported    figures that papers report, below a board's rows
answer      the submit page's words, and what a check, a submission or a withdrawal answered
plain_submit_page  the submit form without script; card_fields: what both forms ask for
entry_page  an entry: headline, pictures, tables, examples (with entry_head, headline, score_parts, shift_table,
            confidence_part, confidence_rows, place_part, home_advantage); withdrawn_page: where it was withdrawn
verdict     scores in one sentence; beyond_means, margins, detectable, annotators: sentences on the worst true drop, the
            margin, the smallest detectable drop, human scores; above_line_part: effective robustness
report_page the same of a prediction file, as one HTML file (folder_report: of one for a dataset folder)
check_page  one model's scores by domain (with check_words, check_terminal); gate: a gate's decision
forecast_page  forecasts as HTML pages (with forecast_words, forecast_terminal; forecast_part: on an entry's page)
forecast_board  methods of forecasting on boards (with forecast_standings); forecast_comparison: as tables of text
released_page  an entry on withheld labels: its card, and what rounds released
plain_tables  scores and comparisons as small tables of text: for notebooks, and LaTeX; paper_table: that of a paper
plan_tables  what can be found before training
item_tables  models compared on the same items; claims: what checking a comparison again found
terminal    scores, comparisons, boards and rounds as tables for the terminal (with summary_rows, contents)
pictures    SVG and matrices of one entry and task, or of several entries
compare_page  2 to 4 entries against each other (with compare_pictures, exports); pairwise_part: up to 12 in pairs
data_page   a task's domains: sizes, divergences, depths, sources (with data_samples)
about_page  what is measured, and how programs ask for it
site        the shell of every page and report, the style sheet (css) and the script
addresses   where each page is: the only place that spells it
html        elements and templates that escape everything; numbers, cells, intervals, notices: what several pages share
task_names  plain names of benchmarks, tasks and boards; titles: domains of own data as their makers write them
templates   the shells of pages and their forms, as Jinja2; what depends on scores is written by code

In: scores, entries, boards. Out: HTML, SVG, CSV and tables for the terminal.
"""
