"""The rooms stand beside shiftbench/ in this repository; installed, they are inside it."""

import shutil

from setuptools import find_namespace_packages, setup
from setuptools.command.build_py import build_py

ROOMS = ("validation", "metrics", "builders", "scoring", "baselines", "leaderboard")


class BuildAfresh(build_py):
    """Collect the packages in an empty folder: what an earlier build left would be in the wheel, too."""

    def run(self) -> None:
        """Empty the folder, and collect the packages."""
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


# The reference results, 11 MB of packed predictions, are for readers of the repository.
found = find_namespace_packages(
    include=[name for room in ROOMS for name in (room, f"{room}.*")],
    exclude=["baselines.results.*"],
)
front = find_namespace_packages(
    include=["shiftbench", "shiftbench.*"], exclude=[n for r in ROOMS for n in (f"shiftbench.{r}", f"shiftbench.{r}.*")]
)
setup(
    cmdclass={"build_py": BuildAfresh},
    packages=[*front, *(f"shiftbench.{name}" for name in found)],
    package_dir={f"shiftbench.{room}": room for room in ROOMS},
)
