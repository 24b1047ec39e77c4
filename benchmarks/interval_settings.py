"""Settings of simulated tasks for testing intervals, by simulation."""

from benchmarks.simulated_tasks import Setting

_SHARES = (0.6, 0.8, 0.9, 0.95, 0.97, 0.99, 0.995)


def _edges() -> list[Setting]:
    """List test sets without groups, with scores from the middle of the scale to its end."""
    settings = [Setting(f"n = {n}, p = {p:g}", p, p, (1,) * n) for n in (30, 200) for p in _SHARES]
    return [*settings, Setting("n = 30, p = 0.995 and 0.9", 0.995, 0.9, (1,) * 30)]


def _graded() -> list[Setting]:
    """List settings with graded scores (token F1), some weighted by depth, and depth-weighted accuracy with groups."""
    plain = [
        Setting(f"token F1, n = {n}, p = {p:g}", p, p, (1,) * n, metric="token_f1", has_depth=n > 50)
        for n in (50, 200)
        for p in (0.6, 0.9, 0.98)
    ]
    grouped = [Setting(f"accuracy, 40 x 5, p = {p:g}", p, p, (5,) * 40, 0.3, has_depth=True) for p in (0.7, 0.95)]
    return [*plain, *grouped]


def _training_runs() -> list[Setting]:
    """List settings with five runs per source, for intervals that cover variation of texts and of runs."""
    return [
        Setting(f"{n} x 2, runs' sd {sd:g}, p = {p:g}", p, p, (2,) * n, 0.3, n_runs=5, run_sd=sd)
        for n in (30, 150)
        for sd in (0.05, 0.3)
        for p in (0.7, 0.95)
    ]


SETTINGS = {
    "edges": _edges(),
    "graded and depth-weighted": _graded(),
    "training runs": _training_runs(),
}
