"""Warnings about data that is not the benchmark itself."""

from collections.abc import Iterable

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.site import render


def notices(folders: Iterable[DatasetFolder]) -> Markup:
    """Build warnings of data that is not known to be the benchmark: synthetic, in part, or from unrecorded files."""
    return render("notices.html", manifests=[folder.manifest for folder in folders])
