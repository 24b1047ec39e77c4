"""Long texts as overlapping windows of word pieces, so that nothing is lost at a model's maximum length."""

import math


def windows(length: int, size: int) -> list[range]:
    """Cover ``range(length)`` with the fewest ranges of ``size``, neighbours overlapping by a third or more.

    Ranges are spread evenly, so that all are full and each position has as much context as possible.

    Returns: the ranges in order; a single range if the text fits, even if it is empty.
    Raises: ValueError if the size is less than 1.

    >>> windows(5, 8), windows(12, 6)
    ([range(0, 5)], [range(0, 6), range(3, 9), range(6, 12)])
    """
    if size < 1:
        raise ValueError(f"a window must hold at least one piece, got a size of {size}")
    if length <= size:
        return [range(length)]
    n_steps = math.ceil((length - size) / (size - size // 3))
    starts = [step * (length - size) // n_steps for step in range(n_steps + 1)]
    return [range(start, start + size) for start in starts]
