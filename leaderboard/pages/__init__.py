"""The site's pages: HTML that works without script, from boards and entries.

shell       head, navigation and script of every page, and the page About; templates: its forms, as Jinja2
addresses   where each page is: the only place that spells it
front_page  the first page: the gap as a picture, what the data say, benchmarks, doors
board_page  a task's board: the answer (board_answer), a page of rows (board_table, board_columns), the legend
overall_page  a benchmark's board: a line a model, a column a task
scatter     the scatter plot of a board; domains_page: its hardest domain and best source
board_query what a reader asks of a table, and the rows that answer; board_data: the same as JSON and CSV
links       links of cards
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
