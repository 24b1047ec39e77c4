"""Everything about data: from upstream files to the dataset folder that the other rooms read.

Input: upstream files or user data. Output: dataset folders, local and on the Hub. Layers, from the top:

building                     builds and their commands
boss, df1, publishing        specs of benchmarks; the Hub
dr, writing                  specs; a folder written
readers, assembling          upstream formats; splits of a task
reading, statistics          streams; figures of a task
specs, encoder               the vocabulary of specs; sentence vectors
folder                       the dataset folder, which other rooms import
tables, cache, checksums, hub_access, stored_rows   the ground floor
"""

if __name__ != "shiftbench.builders":
    raise ImportError("this folder is the package shiftbench.builders; import it under that name", name=__name__)
