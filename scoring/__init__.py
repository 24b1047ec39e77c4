"""From a prediction file to its evaluation: scores, comparisons, forecasts, reports, the papers' figures.

Input: dataset folders and prediction files. Output: numbers, text, plots and files. Layers, from the top:

papers                       the papers' figures; the choice of data sets
interchange                  logs, tasks and results in other tools' formats
reports                      scores as text, tables, plots and HTML files
comparing                    tests between models
forecasting                  scores on texts without labels
scores                       scores of a prediction file
"""

if __name__ != "shiftbench.scoring":
    raise ImportError("this folder is the package shiftbench.scoring; import it under that name", name=__name__)
