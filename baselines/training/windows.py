"""Long texts as windows of word pieces that overlap, so that nothing is lost at a model's maximum length."""

import math


def windows(length: int, size: int) -> list[range]:
    """Cut the places 0 to ``length`` into the fewest ranges of ``size`` places, neighbours sharing a third or more.

    Ranges are spread evenly, so that all are full and each place has as much context as fits.

    Args:
        length: pieces of the text, 0 or more.
        size: pieces that a window holds, 1 or more.
    Returns: the ranges in order; one where the text fits, though it be empty.
    Raises: ValueError when the size is less than 1.

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
