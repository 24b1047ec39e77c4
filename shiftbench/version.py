"""The installed version; reading it takes longer than the rest of ``import shiftbench``."""

from importlib.metadata import version

__version__ = version("shiftbench")
