"""The dataset folder's public interface: manifest, hashes, reader, configs, statistics, papers, `datasets` builder.

Input: a folder on disk or a Hub repository. Output: its tasks, rows, depths and statistics.
"""
