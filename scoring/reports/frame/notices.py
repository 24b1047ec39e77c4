"""Warnings about data that is not the benchmark itself."""

from collections.abc import Iterable

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.frame.html import Markup, join, tag


def notices(folders: Iterable[DatasetFolder]) -> Markup:
    """Build warnings of data that is not known to be the benchmark: synthetic, in part, or from unrecorded files."""
    boxes = []
    for manifest in (folder.manifest for folder in folders):
        if manifest.synthetic:
            what = "Synthetic data. "
            why = (
                f"'{manifest.benchmark}' holds texts that a program made up, to show the tools at work. "
                "Its scores say nothing about any model."
            )
        elif manifest.partial:
            what = "Partial build. "
            why = (
                f"This copy of '{manifest.benchmark}' was built from a part of the upstream rows. "
                "Its scores compare with each other, not with published ones."
            )
            if manifest.unverified:
                why += " Some of its upstream files also match no record: see the data page."
        elif manifest.unverified:
            what = "Not compared with a record. "
            why = (
                f"Some upstream files of this copy of '{manifest.benchmark}' match no record: they may be incomplete, "
                "or of another revision. See the data page."
            )
        else:
            continue
        boxes.append(tag("div", tag("strong", what), why, class_="sb-notice", role="note"))
    return join(boxes)
