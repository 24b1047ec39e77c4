"""The rooms stand beside shiftbench/ in this repository; installed, they are inside it."""

from setuptools import find_namespace_packages, setup

ROOMS = ("validation", "metrics", "builders", "scoring", "baselines", "leaderboard")
found = find_namespace_packages(include=[name for room in ROOMS for name in (room, f"{room}.*")])
front = find_namespace_packages(
    include=["shiftbench", "shiftbench.*"], exclude=[n for r in ROOMS for n in (f"shiftbench.{r}", f"shiftbench.{r}.*")]
)
setup(
    packages=[*front, *(f"shiftbench.{name}" for name in found)],
    package_dir={f"shiftbench.{room}": room for room in ROOMS},
)
