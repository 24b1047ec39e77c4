"""The Python API of ``import shiftbench as sb``: functions (``api``) and the results that they return."""
