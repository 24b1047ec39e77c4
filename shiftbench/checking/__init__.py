"""Checks of user models and files: check, gate, label, forecast, claims.

Input: user files, tables and models. Output: results that commands print and notebooks display.
"""
