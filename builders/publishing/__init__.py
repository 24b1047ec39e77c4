"""Publish dataset folders to the Hub, without rows that may not be published.

Input: a dataset folder. Output: a repository, in one commit.
"""
