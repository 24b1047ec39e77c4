"""Implementation of check, gate, label, forecast, score and claims, for commands and notebook.

Input: user files, tables and models. Output: results that commands print and notebooks display.
"""
