"""What is shown, made by pure functions from scores and entries. Points (x100) exist only in here.

board_page  the board: its form, one page of rows, the legend
board_query what a reader asks of a board, and the rows that answer
board_data  a board's rows as JSON and CSV
board_columns, board_cells, intervals   columns, cells and the small pictures in them
reported    figures that papers report, below a board's rows
submission  a file and a card in, a plain answer out
entry_page  an entry: headline, pictures, tables, examples (with headline, score_parts, shift_table)
report_page the same of one's own data, as one HTML file
pictures    SVG and matrices of one entry and task, or of several entries
pages       HTML of tables, facts and notices, everything escaped
cells       cells that several pages share
"""
