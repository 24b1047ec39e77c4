"""The site's pages: HTML that works without script, from boards and entries.

shell       head, navigation and script of every page; templates: its forms, as Jinja2
addresses   where each page is: the only place that spells it
board_page  the board: its form, one page of rows, the legend (with board_fragment, board_answer, board_chooser,
            board_notes; table_parts, scatter_part, links: shared with the overall board)
overall_page  the front page: a benchmark's overall board (with overall_query; query: what both questions share)
board_query what a reader asks of a board, and the rows that answer
board_data  a board's rows as JSON and CSV
board_columns, board_cells   columns, cells and the small pictures in them
reported    figures that papers report, below a board's rows
answer      the submit page's words, and what a check, a submission or a withdrawal answered
plain_submit_page  the submit form without script; card_fields: what both forms ask for
entry_page  an entry (with entry_head, place_part, forecast_part); withdrawn_page: where it was withdrawn
released_page  an entry on withheld labels: its card, and what rounds released
compare_page  2 to 4 entries against each other; pairwise_part: up to 12 in pairs
forecast_board  methods of forecasting on boards (with forecast_standings)
data_page   a task's domains: sizes, divergences, depths, sources (with data_samples)
about_page  what is measured, and how programs ask for it
contents    what a prediction file or a dataset folder holds, in lines
task_names  plain names of benchmarks, tasks and boards

In: entries and boards. Out: HTML, CSV and JSON.
"""
