"""The site's pages: HTML that works without script, from boards and entries.

shell       head, navigation and script of every page, and the page About; templates: its forms, as Jinja2
addresses   where each page is: the only place that spells it
board_page  the board: its form, one page of rows, the answer in words (board_answer), the legend
overall_page  the front page: a benchmark's overall board
table_parts, links  what both share: headings, pages, the picture above the rows, links of cards
board_query what a reader asks of a table, and the rows that answer
board_data  a board's rows as JSON and CSV
board_columns, board_cells   columns, cells and the small pictures in them
reported    figures that papers report, below a board's rows
submit_page the submit page: a form that fills itself, and what a check or a submission answered
entry_page  an entry, also one on withheld labels, and one that was withdrawn
compare_page  2 to 4 entries against each other, or up to 12 in pairs, in groups that share shifts
forecast_board  methods of forecasting on boards
data_page   a task's domains: sizes, divergences, depths, sources, samples
contents    what a prediction file or a dataset folder holds, in lines
task_names  plain names of benchmarks, tasks and boards

In: entries and boards. Out: HTML, CSV and JSON.
"""
