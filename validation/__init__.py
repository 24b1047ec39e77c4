"""Vocabulary, schemas and error reports: what every other room agrees on. Imports nothing of ours.

In: files and frames from outside. Out: typed rows and cards, or every problem with its place and cure.
Beside them stand helpers that all rooms share: ``command_line``, ``operating_system``, ``output_files``, ``png``,
``retries``, ``timing``.
"""

if __name__ != "shiftbench.validation":
    raise ImportError("this folder is the package shiftbench.validation; import it under that name", name=__name__)
