"""From the rows that were read to the splits of a task: cut, sizes, placebo, depth.

In: frames of one domain, its spec. Out: splits with ids, sorted, checked against their schema.
"""
