"""Croissant metadata of a dataset folder, ``croissant.json``, with the same configs as the card.

A config is a record set over a file set. Paths are relative to the file, so it is valid both locally and in a copy of a
Hub repository. Labels are codes, as in the files; one record set per task lists their names. Checksums are omitted
(those of the rows are in the manifest). Authors and date of publication are from the publisher's metadata.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shiftbench.builders.folder.citations import papers_to_cite
from shiftbench.builders.folder.configs import LABEL, Column, Config, configs
from shiftbench.builders.folder.manifest import OWN_LICENCE, Manifest, SourceFacts
from shiftbench.builders.folder.publication import Party
from shiftbench.builders.folder.statistics import TaskStatistics
from shiftbench.builders.writing.front_matter import languages
from shiftbench.builders.writing.licences import spdx_address
from shiftbench.builders.writing.responsible_ai import RAI, responsible_ai
from shiftbench.validation.vocabulary import SPLITS

CROISSANT = "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.1"
_SPLITS_ID = "Splits"
_TYPES = {
    "string": "sc:Text",
    "float64": "sc:Float",
    "int32": "sc:Integer",
    "int64": "sc:Integer",
    "bool": "sc:Boolean",
    LABEL: "sc:Integer",
}
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The ``@context`` given in the Croissant specification."""


def croissant(manifest: Manifest, statistics: Mapping[str, TaskStatistics], url: str | None = None) -> str:
    """Build the metadata of a folder from its manifest, without withheld domains and their licences.

    Args:
        manifest: the folder's manifest.
        statistics: statistics by task.
        url: the dataset's default web page, if its publisher states none.
    Returns: JSON-LD of Croissant 1.1, deterministic.
    """
    sources, publication = manifest.sources_here, manifest.publication
    papers = papers_to_cite(manifest.benchmark, depths=manifest.encoder is not None)
    cited = [*([publication.bibtex] if publication else []), *papers, *(source.citation for source in sources)]
    facts = {
        "name": manifest.title,
        "description": _description(manifest),
        "inLanguage": languages(manifest),
        "version": manifest.builder_version,
        "identifier": manifest.content_hash,
        "url": (publication.url if publication else None) or url or "",
        "creator": [_party(author) for author in publication.authors] if publication else [],
        "datePublished": publication.date_released if publication else "",
        "license": list(dict.fromkeys(filter(None, map(_licence, sources)))),
        "citeAs": "\n\n".join(dict.fromkeys(filter(None, cited))),
        "isBasedOn": list(dict.fromkeys(source.url for source in sources if source.url)),
        **responsible_ai(manifest, statistics),
    }
    return croissant_text(facts, configs(manifest), conforms_to=[CONFORMS_TO, RAI])


def _licence(source: SourceFacts) -> str:
    """Return the URL of a source's licence, otherwise its text; ``""`` if none is stated."""
    return spdx_address(source) or source.licence_url or ("" if source.licence == OWN_LICENCE else source.terms)


def _party(party: Party) -> dict[str, str]:
    facts = {"name": party.called, "email": party.email, "url": party.website or party.orcid}
    kind = "sc:Organization" if party.name else "sc:Person"
    return {"@type": kind, **{key: value for key, value in facts.items() if value}}


def croissant_text(
    facts: Mapping[str, Any], dataset_configs: Sequence[Config], conforms_to: str | Sequence[str] = CONFORMS_TO
) -> str:
    """Build the metadata of configs, as text.

    Args:
        facts: facts of the whole dataset, such as name, description and license; empty ones are omitted.
        dataset_configs: the configs.
        conforms_to: URLs of the specifications it conforms to.
    Returns: JSON-LD of Croissant 1.1.
    """
    content = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": conforms_to,
        **{key: value for key, value in facts.items() if value not in ("", [])},
        "distribution": [_file_set(config) for config in dataset_configs],
        "recordSet": [_splits(), *_label_sets(dataset_configs), *(_record_set(config) for config in dataset_configs)],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _description(manifest: Manifest) -> str:
    tasks = "; ".join(f"{name}: {task.title}" for name, task in manifest.tasks.items() if task.domains)
    notes = [
        f"{manifest.title}: text domains for measuring how much accuracy models lose between them. Tasks: {tasks}."
    ]
    if manifest.synthetic:
        notes.append("Synthetic data: every text was generated by a program.")
    if manifest.partial:
        notes.append("Partial build: the upstream files were incomplete.")
    if any(task.withheld for task in manifest.tasks.values()):
        notes.append(
            "Domains whose licence does not allow publishing are not included; README.md describes how to build them."
        )
    return " ".join(notes)


def _file_set(config: Config) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": _files_id(config),
        "name": _files_id(config),
        "description": f"Parquet files of {config.name}.",
        "encodingFormat": "application/x-parquet",
        "includes": list(config.paths.values()),
    }


def _files_id(config: Config) -> str:
    return f"Files/{config.name}"


def _splits() -> dict[str, Any]:
    """Return the record set of the splits, as defined by Croissant."""
    uses = {"train": "cr:TrainingSplit", "validation": "cr:ValidationSplit", "test": "cr:TestSplit"}
    name, use = f"{_SPLITS_ID}/name", f"{_SPLITS_ID}/use"
    return {
        "@type": "cr:RecordSet",
        "@id": _SPLITS_ID,
        "name": _SPLITS_ID,
        "dataType": "cr:Split",
        "key": {"@id": name},
        "field": [
            {"@type": "cr:Field", "@id": name, "name": "name", "dataType": "sc:Text"},
            {"@type": "cr:Field", "@id": use, "name": "use", "dataType": "sc:URL"},
        ],
        "data": [{name: split, use: uses[split]} for split in SPLITS],
    }


def _label_sets(dataset_configs: Sequence[Config]) -> Iterator[dict[str, Any]]:
    """Yield a record set of the label names of each task."""
    for task, labels in {config.task: config.labels for config in dataset_configs if config.labels}.items():
        code, name = f"{_labels_id(task)}/code", f"{_labels_id(task)}/name"
        yield {
            "@type": "cr:RecordSet",
            "@id": _labels_id(task),
            "name": _labels_id(task),
            "description": f"Labels of {task} by their codes.",
            "dataType": "sc:Enumeration",
            "key": {"@id": code},
            "field": [
                {"@type": "cr:Field", "@id": code, "name": "code", "dataType": "sc:Integer"},
                {"@type": "cr:Field", "@id": name, "name": "name", "dataType": ["sc:Text", "sc:name"]},
            ],
            "data": [{code: number, name: label} for number, label in enumerate(labels)],
        }


def _labels_id(task: str) -> str:
    return f"Labels/{task}"


def _record_set(config: Config) -> dict[str, Any]:
    rows = ", ".join(f"{split} {count:,}" for split, count in config.rows.items())
    return {
        "@type": "cr:RecordSet",
        "@id": config.name,
        "name": config.name,
        "description": f"{config.title}. Rows: {rows}.",
        "field": [*_split_field(config), *(_field(config, column) for column in config.columns)],
    }


def _split_field(config: Config) -> list[dict[str, Any]]:
    """Return the field that derives a row's split from its file name; empty for depth tables, which mix splits."""
    if any(f"/{split}-" not in path for split, path in config.paths.items()):
        return []
    (folder,) = {path.rpartition("/")[0] for path in config.paths.values()}
    # mlcroissant also applies it to its own result, and converts it to globs for filters: hence the optional groups.
    regex = f"^(?:{folder.replace('*', '.+')}/)?({'|'.join(config.paths)})(?:-.+parquet)?$"
    source = {
        "fileSet": {"@id": _files_id(config)},
        "extract": {"fileProperty": "fullpath"},
        "transform": {"regex": regex},
    }
    field = {"@type": "cr:Field", "@id": f"{config.name}/split", "name": "split", "dataType": "sc:Text"}
    return [field | {"source": source, "references": {"field": {"@id": f"{_SPLITS_ID}/name"}}}]


def _field(config: Config, column: Column) -> dict[str, Any]:
    source = {"fileSet": {"@id": _files_id(config)}, "extract": {"column": column.name}}
    id_ = f"{config.name}/{column.name}"
    if not column.parts:
        return _leaf(config, column, id_, source)
    parts = [
        _leaf(config, part, f"{id_}/{part.name}", source | {"transform": {"jsonPath": part.name}})
        for part in column.parts
    ]
    return {"@type": "cr:Field", "@id": id_, "name": column.name, "subField": parts}


def _leaf(config: Config, column: Column, id_: str, source: dict[str, Any]) -> dict[str, Any]:
    field: dict[str, Any] = {"@type": "cr:Field", "@id": id_, "name": column.name, "dataType": _TYPES[column.dtype]}
    field["source"] = source
    if column.dtype == LABEL:
        # As text: mlcroissant can only filter by split if a record set has no other references.
        named = ", ".join(f"{code} {label}" for code, label in enumerate(config.labels))
        field["description"] = f"Codes, named in '{_labels_id(config.task)}': {named}."
    if column.is_list:
        field |= {"isArray": True, "arrayShape": "-1"}
    return field
