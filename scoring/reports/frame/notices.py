"""Warnings about data that differs from the benchmark."""

from collections.abc import Iterable

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.site import render


def notices(folders: Iterable[DatasetFolder]) -> Markup:
    """Build warnings for data that may differ from the benchmark: synthetic, partial, or from unrecorded files."""
    return render("notices.html", manifests=[folder.manifest for folder in folders])
