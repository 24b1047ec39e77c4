"""Check of whether an entry's scores cover what a board ranks by."""

from shiftbench.scoring.scores.shape import OUTSIDE_BASES


def covers_board(*, complete: bool, basis: str | None, n_shifts: int, n_domains: int, has_id_domain: bool) -> bool:
    """Return whether scores of one task are ranked.

    Of models trained on domains that takes every shift; of models trained on none of them, every domain as a target:
    trained models' mean ST weighs each of these targets alike, too.

    Args:
        complete: whether every shift is there.
        basis: what ``Summary.basis`` says; None in scores of versions that did not say it.
        n_shifts: shifts that were scored.
        n_domains: domains of the task.
        has_id_domain: whether the task has a domain that models are trained on.
    """
    if not has_id_domain and basis in OUTSIDE_BASES.values():
        return n_shifts == n_domains
    return complete
