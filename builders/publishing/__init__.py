"""Dataset folders on their way to the Hub: what may be published, and sending it.

In: a dataset folder. Out: a repository, in one commit.
"""
