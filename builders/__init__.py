"""Everything about data: from upstream files to the dataset folder that the other packages read.

Input: upstream files or user data. Output: dataset folders, local and on the Hub. Layers, from the top:

building                     the build commands: built-in benchmarks, user data, synthetic data
boss, df1, publishing        specs of BOSS and DF1; publishing on the Hub
dr, writing                  specs of DR; writing dataset folders
readers, assembling          upstream formats; splits of a task
reading, statistics          streaming of large files; statistics of a task
specs, encoder               classes for specs; sentence vectors
folder                       the dataset folder: the interface for other packages
tables, cache, checksums, hub_access, stored_rows   helpers that all layers use
"""

if __name__ != "shiftbench.builders":
    raise ImportError("this folder is the package shiftbench.builders; import it under that name", name=__name__)
