"""The site's pages: HTML that works without script, from boards and entries.

shell       head, navigation and script of every page, and the page About; Jinja2 templates are in ``templates``
addresses   the URLs of all pages, defined only here
front_page  the first page: a picture of the gap, headline results, benchmarks, links
board_page  boards of tasks and benchmarks: summary (board_answer) and rows (board_table, board_columns); domains
scatter     the scatter plot of a board
board_query filters, search and order of a table, and the matching rows; board_data: the same as JSON and CSV
reported    scores that papers report, below a board's rows
submit_page the submit page: a form that fills itself, and the response to a check or a submission
entry_page  an entry's page, also on withheld labels or after withdrawal
compare_page  compares 2 to 4 entries, or up to 12 pairwise, in groups that share shifts
forecast_board  forecasting methods on boards
data_page   a task's domains: sizes, divergences, sources, samples
task_names  display names of benchmarks, tasks and boards

Input: entries and boards. Output: HTML, CSV and JSON.
"""
