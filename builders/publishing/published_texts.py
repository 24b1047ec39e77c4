"""Texts of a published dataset: manifest, card and Croissant metadata, including the publisher's metadata."""

from pathlib import Path

from shiftbench.builders.folder.manifest import MANIFEST, OWN_LICENCE, Manifest
from shiftbench.builders.folder.publication import Publication
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.writing.writer import descriptions
from shiftbench.validation.report import InvalidInput, Problem


def published_texts(
    folder: DatasetFolder,
    publication: Publication | None,
    repo_id: str,
    endpoint: str,
    place: Path | None = None,
) -> dict[str, str]:
    """Return the texts that replace a folder's own files on the Hub, by file name.

    Args:
        folder: the folder to publish.
        publication: the publisher's metadata; None keeps the folder's.
        repo_id: the repository, used in the card's loading example.
        endpoint: URL of the Hub.
        place: the path shown in error messages, if ``folder`` is a temporary copy; by default the path of ``folder``.
    Raises: InvalidInput if texts may be harmful and no contact is given, or a licence is stated for rows that already
        have one.
    """
    publication = publication or folder.manifest.publication
    _check(folder, publication, str(place or folder.path))
    manifest, page = folder.manifest, f"{endpoint}/datasets/{repo_id}"
    if publication is not None:
        # The manifest only allows https URLs, so the page of a private Hub without TLS is omitted.
        named = publication.url or (page if page.startswith("https://") else None)
        manifest = _stated(manifest, publication.model_copy(update={"url": named}))
    texts = descriptions(folder.path, manifest, repo_id, page)
    return {MANIFEST: manifest.as_text(), **texts}


def _check(folder: DatasetFolder, publication: Publication | None, place: str) -> None:
    problems = []
    sources = folder.manifest.sources_here
    if publication is None or publication.address is None:
        cure = "give a contact for takedown requests: 'contact' with an e-mail address in the file of --cite"
        problems += [
            Problem(f"texts of {source.title} may be harmful, and no contact is given", place, cure=cure)
            for source in sources
            if source.may_hurt
        ]
    own = [source for source in sources if source.licence == OWN_LICENCE]
    stated = folder.manifest.publication.license if folder.manifest.publication else None
    if publication is not None and publication.license not in (None, stated) and not own:
        cure = "omit 'license': the card lists the licence of each source"
        found = f"'{publication.license}'"
        problems.append(
            Problem("a licence is given, but the rows already have the licences of their sources", place, found, cure)
        )
    if problems:
        raise InvalidInput(problems)


def _stated(manifest: Manifest, publication: Publication) -> Manifest:
    """Return the manifest with the publisher's metadata; its licence applies to user data only."""
    terms = {
        "licence": publication.license or OWN_LICENCE,
        "spdx": publication.license,
        "licence_url": publication.license_url,
    }
    sources = {
        slug: source.model_copy(update=terms) if source.licence == OWN_LICENCE else source
        for slug, source in manifest.sources.items()
    }
    return manifest.model_copy(update={"title": publication.title, "sources": sources, "publication": publication})
