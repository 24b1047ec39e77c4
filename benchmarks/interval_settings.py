"""Settings of the simulated tasks that intervals are tested on, by the name of the simulation."""

from benchmarks.simulated_tasks import Setting

_SHARES = (0.6, 0.8, 0.9, 0.95, 0.97, 0.99, 0.995)


def _edges() -> list[Setting]:
    """List test sets without groups, with scores from the middle of the scale to its edge."""
    settings = [Setting(f"n = {n}, p = {p:g}", p, p, (1,) * n) for n in (30, 200) for p in _SHARES]
    return [*settings, Setting("n = 30, p = 0.995 and 0.9", 0.995, 0.9, (1,) * 30)]


def _few_groups() -> list[Setting]:
    """List test sets of few groups, equal and unequal, whose texts are weakly or strongly correlated."""
    sizes = {"3 x 20": (20,) * 3, "5 x 20": (20,) * 5, "8 x 20": (20,) * 8, "12 x 50": (50,) * 12}
    sizes["2 x 60, 14 x 10"] = (60, 60, *(10,) * 14)
    return [
        Setting(f"{name}, correlation {alike:g}, p = {p:g}", p, p, groups, alike)
        for name, groups in sizes.items()
        for alike in (0.1, 0.5)
        for p in (0.7, 0.95)
    ]


def _unlike_groups() -> list[Setting]:
    """List macro-F1 where two domains have single texts and the third has documents of many."""
    return [
        Setting(
            f"300 x 1, c {name}, correlation {alike:g}, p = {p:g}", p, p, (1,) * 300, alike, "macro_f1", sizes_of_c=c
        )
        for name, c in {"12 x 50": (50,) * 12, "50 x 40": (40,) * 50}.items()
        for alike in (0.1, 0.5)
        for p in (0.7, 0.9)
    ]


def _rare_classes() -> list[Setting]:
    """List macro-F1 of two classes, the rarer with a few gold examples or many."""
    return [
        Setting(f"{round(n * rare)} of {n} rare, p = {p:g}", p, p, (1,) * n, metric="macro_f1", rare=rare)
        for n, rare in ((150, 0.02), (150, 0.15), (300, 0.1), (300, 0.5))
        for p in (0.7, 0.9, 0.98)
    ]


def _graded() -> list[Setting]:
    """List settings with token F1, plain and weighted by depth, and depth-weighted accuracy with groups."""
    plain = [
        Setting(f"token F1, n = {n}, p = {p:g}", p, p, (1,) * n, metric="token_f1", has_depth=n > 50)
        for n in (50, 200)
        for p in (0.6, 0.9, 0.98)
    ]
    grouped = [Setting(f"accuracy, 40 x 5, p = {p:g}", p, p, (5,) * 40, 0.3, has_depth=True) for p in (0.7, 0.95)]
    return [*plain, *grouped]


def _training_runs() -> list[Setting]:
    """List settings with five runs a source that differ little or much: total intervals."""
    return [
        Setting(f"{n} x 2, runs' sd {sd:g}, p = {p:g}", p, p, (2,) * n, 0.3, n_runs=5, run_sd=sd)
        for n in (30, 150)
        for sd in (0.05, 0.3)
        for p in (0.7, 0.95)
    ]


SETTINGS = {
    "edges": _edges(),
    "few groups": _few_groups(),
    "unlike groups": _unlike_groups(),
    "rare classes": _rare_classes(),
    "graded and depth-weighted": _graded(),
    "training runs": _training_runs(),
}
