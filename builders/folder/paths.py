"""Where files of rows, depths and ids lie in a dataset folder."""


def split_path(task: str, domain: str, split: str) -> str:
    """Return a split's path inside a dataset folder.

    Args:
        task: its name.
        domain: one of its domains.
        split: one of ``shiftbench.validation.vocabulary.SPLITS``.
    Returns: a relative path with slashes, a glob over the split's shards.
    """
    return f"data/{task}/{domain}/{split}-*.parquet"


def depth_path(task: str, source: str, target: str) -> str:
    """Return a depth table's path inside a dataset folder.

    Args:
        task: its name.
        source: a training domain, or several joined by ``+``.
        target: a domain.
    Returns: a relative path with slashes.
    """
    return f"depth/{task}/{source}--{target}.parquet"


def subset_path(task: str, subset: str) -> str:
    """Return the path of a subset's ids inside a dataset folder.

    Args:
        task: its name.
        subset: name of the subset, such as ``all``.
    Returns: a relative path with slashes.
    """
    return f"subsets/{task}/{subset}.parquet"


def repeats_path(task: str) -> str:
    """Return the path of the list of a task's repeated test rows inside a dataset folder.

    Args:
        task: its name.
    Returns: a relative path with slashes.
    """
    return f"repeats/{task}.parquet"
