"""Shared vocabulary, schemas and error reports. Imports no other package of shiftbench.

Input: untrusted files and frames. Output: typed rows and cards, or all problems with location and suggested fix.
Shared helpers: ``command_line``, ``operating_system``, ``output_files``, ``png``, ``retries``, ``timing``.
"""

if __name__ != "shiftbench.validation":
    raise ImportError("this folder is the package shiftbench.validation; import it under that name", name=__name__)
