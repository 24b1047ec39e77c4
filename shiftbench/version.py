"""The installed version; reading it takes longer than all else that ``import shiftbench`` does."""

from importlib.metadata import version

__version__ = version("shiftbench")
