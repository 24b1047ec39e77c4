"""Reading of upstream files of any size once: as streams, for several takers, sampled, resumable.

In: a path, and what several specs want of it. Out: their sampled rows, the file's row count and checksum.
"""
