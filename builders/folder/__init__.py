"""The dataset folder as other rooms see it: manifest, hashes, reader, configs, statistics, papers, `datasets` builder.

In: a folder on disk or a repository of the Hub. Out: its tasks, rows, depths and statistics.
"""
