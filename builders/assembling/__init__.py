"""Turn the rows read from files into the splits of a task: cutting, sizes, placebo tasks, depth tables.

Input: frames of each domain and the task's spec. Output: splits with ids, sorted and validated against their schema.
"""
