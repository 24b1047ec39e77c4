"""Licences of sources for cards and metadata: SPDX identifiers, URLs, and the Hub's licence keys."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from shiftbench.builders.folder.manifest import OWN_LICENCE, SourceFacts

_HUB = {
    *("apache-2.0", "mit", "bsd-2-clause", "bsd-3-clause", "isc", "unlicense", "wtfpl", "etalab-2.0", "lppl-1.3c"),
    *("cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nd-4.0"),
    *("cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0"),
    *("cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0"),
    *("cdla-sharing-1.0", "cdla-permissive-1.0", "cdla-permissive-2.0"),
}
"""Lower-case SPDX identifiers that are also the Hub's licence keys (https://hf.co/docs/hub/repositories-licenses)."""
_HUB_NAMES = {"c-uda-1.0": "c-uda", "odc-by-1.0": "odc-by", "odbl-1.0": "odbl", "pddl-1.0": "pddl"}
"""SPDX identifiers with a different key on the Hub."""
_LONGEST_IN_CELL = 24
_UNKNOWN, _OTHER = "unknown", "other"


def licence_address(source: SourceFacts) -> str | None:
    """Return the URL of a source's licence; None if unknown."""
    return source.licence_url or spdx_address(source)


def spdx_address(source: SourceFacts) -> str | None:
    """Return the SPDX page of a source's licence; None if it has none, such as an expression of several licences."""
    return f"https://spdx.org/licenses/{source.spdx}.html" if source.spdx and " " not in source.spdx else None


def licence_link(source: SourceFacts) -> str:
    """Format a source's licence in Markdown: its SPDX identifier or text, linked if there is a URL."""
    words = "not stated" if source.licence == OWN_LICENCE else source.spdx or source.licence
    address = licence_address(source)
    return f"[{words}]({address})" if address else words


def licence_links(sources: Iterable[SourceFacts]) -> str:
    """Format the distinct licences of sources for a table cell; long texts are further down in the card."""
    links = (
        "[see below](#sources-and-licences)"
        if not source.spdx and len(source.licence) > _LONGEST_IN_CELL
        else licence_link(source)
        for source in sources
    )
    return ", ".join(dict.fromkeys(links)).replace("|", "\\|")


def hub_licence(sources: Sequence[SourceFacts]) -> dict[str, Any]:
    """Return the front matter keys with the licences of sources for the Hub.

    Returns: ``license``, a key or a list of keys; for licences unknown to the Hub, ``other`` with ``license_name``, and
        ``license_link`` if such sources share one URL.
    """
    others = [source for source in sources if _hub_name(source) == _OTHER]
    names = sorted(set(map(_hub_name, sources))) or [_UNKNOWN]
    keys: dict[str, Any] = {"license": names[0] if len(names) == 1 else names}
    if others:
        words = {source.spdx or source.licence for source in others}
        keys["license_name"] = _slug(words.pop()) if len(words) == 1 else "by-source"
        addresses = {licence_address(source) for source in others}
        if len(addresses) == 1 and None not in addresses:
            keys["license_link"] = addresses.pop()
    return keys


def _hub_name(source: SourceFacts) -> str:
    if source.licence == OWN_LICENCE:
        return _UNKNOWN
    spdx = (source.spdx or "").lower()
    return spdx if spdx in _HUB else _HUB_NAMES.get(spdx, _OTHER)


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-")[:60]
