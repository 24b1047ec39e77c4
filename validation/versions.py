"""Version of a dataset, to which predictions, scores and claims refer: content hash and settings hash."""

from typing import NamedTuple

HALF = 32
"""Length of the first part of a settings hash, which covers the tasks; the rest covers the depth encoder."""
NO_SETTINGS = "settings not compared: this older version did not record them"
"""Note printed when a folder, card or claim has no settings hash."""
SETTINGS_CURE = "build it again with the same settings: kind, groups, --min-texts, subsets, pairing"


class DataVersion(NamedTuple):
    """Content hash and settings hash of a dataset folder, each 64 hex digits.

    ``settings`` is None for older folders, cards, scores and claims, which match any settings.

    >>> str(DataVersion("a74afdf060f4" + 52 * "0", "1b2c3d4e5f60" + 52 * "0"))
    'content a74afdf060f4, settings 1b2c3d4e5f60'
    """

    content: str
    settings: str | None = None

    def __str__(self) -> str:
        """Return the first 12 digits of each hash."""
        settings = "" if self.settings is None else f", settings {self.settings[:12]}"
        return f"content {self.content[:12]}{settings}"

    def difference(self, other: "DataVersion", *, depths: bool = False) -> str:
        """Return the first difference of two versions: content, settings, encoder of depths; empty if equal.

        Args:
            other: the version to compare with.
            depths: also compare the depth encoder, on which predictions do not depend.

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
