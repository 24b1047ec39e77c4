"""What is shown, made by pure functions from scores and entries. Points (x100) exist only in here.

listing     entries of a store with their scores, or why they have none
board       rows of one table: one benchmark, task and subset
reported    figures that papers report, below a board's rows
submission  a file and a card in, a plain answer out
figures     plotly figures of one entry and task
pages       HTML of tables, facts and notices, everything escaped
id_ood      the tables of tasks with one training domain
cells       cells that all tables share
"""
