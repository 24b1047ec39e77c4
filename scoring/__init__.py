"""From a prediction file to what is said of it: scores, comparisons, forecasts, reports, the papers' figures.

In: dataset folders and prediction files. Out: numbers, words, pictures and files. Floors, from the top:

papers                       the papers' figures; the choice of data sets
interchange                  logs, tasks and results in other tools' formats
reports                      scores as words, tables, pictures and HTML files
comparing                    tests between models
forecasting                  scores on texts without labels
scores                       a prediction file to its scores
"""

if __name__ != "shiftbench.scoring":
    raise ImportError("this folder is the package shiftbench.scoring; import it under that name", name=__name__)
