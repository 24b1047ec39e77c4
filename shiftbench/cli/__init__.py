"""The command-line interface.

Input: arguments. Output: tables on the terminal, JSON, files.
"""
