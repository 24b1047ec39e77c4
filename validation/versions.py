"""The version of a dataset that predictions, scores or claims are of: its content and its settings, each by a hash."""

from typing import NamedTuple

HALF = 32
"""Digits of a settings hash that are of tasks; those after them are of the encoder of depths."""
NO_SETTINGS = "settings not recorded, so not compared: it is of a version before them"
"""What commands that check a folder, card or claim say where one has no settings hash; nothing else mentions it."""
SETTINGS_CURE = "build it again with the same settings: kind, groups, --min-texts, subsets, pairing"


class DataVersion(NamedTuple):
    """Content hash and settings hash of a dataset folder, each 64 hex digits.

    ``settings`` is None of older folders, cards, scores and claims, which fit any settings.

    >>> str(DataVersion("a74afdf060f4" + 52 * "0", "1b2c3d4e5f60" + 52 * "0"))
    'content a74afdf060f4, settings 1b2c3d4e5f60'
    """

    content: str
    settings: str | None = None

    def __str__(self) -> str:
        """Return the first 12 digits of each."""
        settings = "" if self.settings is None else f", settings {self.settings[:12]}"
        return f"content {self.content[:12]}{settings}"

    def difference(self, other: "DataVersion", *, depths: bool = False) -> str:
        """Return what differs between two versions, in words: content, settings, encoder of depths; empty if nothing.

        Args:
            other: the version to compare with.
            depths: compare the encoder of depths, too, on which predictions do not depend.

        >>> a, b = DataVersion("c", 32 * "1" + 32 * "2"), DataVersion("c", 32 * "1" + 32 * "3")
        >>> a.difference(b), a.difference(b, depths=True), a.difference(DataVersion("c"))
        ('', 'encoder of depths', '')
        """
        if self.content != other.content:
            return "content"
        if self.settings is None or other.settings is None or self.settings == other.settings:
            return ""
        if self.settings[:HALF] != other.settings[:HALF]:
            return "settings"
        return "encoder of depths" if depths else ""
