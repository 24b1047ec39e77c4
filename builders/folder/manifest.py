"""The manifest of a dataset folder, ``shiftbench.json``: its content and its sources."""

import json
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import pydantic

from shiftbench.builders.folder.publication import Publication
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.outside import VISIBLE_LINE, Change, Count, OutsideLines, OutsideText, Seed
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.versions import DataVersion
from shiftbench.validation.vocabulary import SOURCE_JOINER, TaskKind

FORMAT_VERSION = 2
MANIFEST = "shiftbench.json"
DATA_FOLDERS = ("data", "depth", "subsets", "repeats")
"""Subfolders whose files the manifest lists with their checksums."""
PUBLIC_FOLDER, GOLD_FOLDER = "public", "gold"
"""The two dataset folders of a build with withheld test labels (see ``shiftbench.builders.writing.withhold``)."""


class _Facts(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


_Cell = Annotated[str, pydantic.StringConstraints(pattern=r"^[^|\s]([^|\n]*[^|\s])?$"), VISIBLE_LINE]


class SplitFacts(_Facts):
    """Size and hashes of one split.

    Inputs and labels have separate hashes, so that a folder without labels has the same input hash as one with labels.

    ``withheld_labels``: the gold is null here and stored in the gold folder. ``groups_sha256``: hash of the groups of
    test rows (``shiftbench.builders.folder.hashes``); missing in older folders.
    """

    rows: Count
    groups: Count
    inputs_sha256: OutsideText
    labels_sha256: OutsideText
    withheld_labels: bool = False
    groups_sha256: OutsideText | None = None


class Provenance(_Facts):
    """Manually entered facts of a data set: selection criteria (BOSS paper, sec. 2.2 and appendix D) and sizes."""

    title: OutsideText = pydantic.Field(description="Its name in the paper's tables")
    text_sources: tuple[OutsideText, ...] = pydantic.Field(description="Origins of its texts, such as Twitter")
    breadth: Count = pydantic.Field(default=1, description="Number of subtypes (categories, genres, fine types)")
    challenge: bool = pydantic.Field(default=False, description="A challenge set, not for training general models")
    made_from: OutsideText | None = pydantic.Field(
        default=None, description="Title of the data set it is an adversarial version of"
    )
    paper_rows: dict[OutsideText, Count] = pydantic.Field(default={}, description="Rows by split in the paper's tables")

    @pydantic.model_validator(mode="before")
    @classmethod
    def _without_reason(cls, content: Any) -> Any:
        """Remove the key ``differs`` of folders built before 0.1.0: reasons are now computed from the steps."""
        return (
            {key: value for key, value in content.items() if key != "differs"} if isinstance(content, dict) else content
        )


class Pairing(_Facts):
    """A sampled source-target pair: the name, sizes and Q in the Depth F1 paper (Table 1, sec. 4.1).

    ``source_rows`` are sampled from the pooled domains with train rows; ``target_rows`` from the test rows.
    """

    name: OutsideText
    source_rows: Count
    target_rows: Count
    reported_q: float


class UpstreamRows(_Facts):
    """Row counts of an upstream file of a split, or of several files with one recorded total.

    ``rows``: rows read, None if the file was missing; ``recorded_rows``: rows of the complete file, None if unknown, 0
    for a file that only partial builds read in place of others.
    """

    path: OutsideText
    rows: Count | None
    recorded_rows: Count | None


class SplitOverlap(_Facts):
    """Number of rows of an upstream split whose inputs also occur, verbatim, in another one.

    ``rows``: rows of ``split`` that were used, all or a sample. ``repeated``: those that also occur in ``other``.
    ``recorded``: the same for complete upstream files; None if never measured, because files were missing or a split is
    sampled.
    """

    split: OutsideText
    other: OutsideText
    rows: Count
    repeated: Count
    recorded: Count | None

    @property
    def name(self) -> str:
        """Return the name of the two splits in the records, such as ``test in train``."""
        return f"{self.split} in {self.other}"


class DomainFacts(_Facts):
    """One domain: its splits and sources.

    ``rebuild_only``: the licence of a source does not allow publishing its rows; each user builds them. ``upstream``:
    the files of the rows, by upstream split; ``overlaps``: rows shared by two upstream splits. Older folders lack
    these.
    """

    sources: tuple[OutsideText, ...]
    rebuild_only: bool
    splits: dict[OutsideText, SplitFacts]
    title: OutsideText = pydantic.Field(default="", description="Domain name in user data, if it differs from the id")
    provenance: Provenance | None = None
    upstream: dict[OutsideText, tuple[UpstreamRows, ...]] = {}
    overlaps: tuple[SplitOverlap, ...] = ()


class Difference(_Facts):
    """A row of the card's table: how the processing by the paper's authors differs from ours.

    ``rows``: the number of additional rows here, by data set and upstream split.
    """

    data_sets: Annotated[tuple[OutsideText, ...], pydantic.Field(min_length=1)]
    theirs: _Cell
    here: _Cell
    touches: _Cell
    rows: dict[OutsideText, dict[OutsideText, Change]] = {}


class TransformCount(_Facts):
    """Rows before and after a named transform, and the rows that it changed."""

    domain: OutsideText
    split: OutsideText
    name: OutsideText
    before: Count
    after: Count
    changed: Count = 0


class SizeFacts(_Facts):
    """Size of a split that was cut: in the paper, the common size here, and the domain that limits the common size."""

    paper: Count
    rows: Count | None = pydantic.Field(description="Common size; None if each domain keeps its rows")
    smallest: OutsideText | None = pydantic.Field(description="The domain that keeps it below the paper's size")

    def shortfall(self, split: str) -> str:
        """Return a note if the split is smaller than in the paper, with the limiting domain; otherwise ``""``."""
        if self.rows is None or self.smallest is None:
            return ""
        return f"{split}: {self.rows:,} rows per domain, {self.paper:,} in the paper; {self.smallest} has no more"


class TaskInfo(_Facts):
    """One task of a folder: inputs, gold, domains, and the steps applied to its rows.

    ``domains`` are those with rows in the folder, ``withheld`` those excluded from publication; their facts are kept so
    that users who build them can compare. ``notes`` list differences from the papers, ``differences`` those from the
    authors' code; other benchmarks and older folders have neither. If there is an ``id_domain``, models are trained on
    it, and all other domains are out of distribution. ``candidates_for`` and ``label_folds`` are as in
    ``shiftbench.builders.specs.spec.TaskSpec``. Models of a ``pairing`` are trained on all its source domains together.
    ``subset_hashes`` are hashes of the ids of every subset except ``all``, including subsets excluded from publication.
    """

    title: OutsideText
    kind: TaskKind
    inputs: tuple[OutsideText, ...]
    labels: tuple[OutsideText, ...]
    metric: OutsideText
    domains: dict[OutsideText, DomainFacts]
    withheld: dict[OutsideText, DomainFacts] = {}
    absent_domains: tuple[OutsideText, ...] = ()
    sizes: dict[OutsideText, SizeFacts] = {}
    subsets: dict[OutsideText, Count]
    withheld_subsets: tuple[OutsideText, ...] = ()
    subset_hashes: dict[OutsideText, OutsideText] = {}
    transforms: tuple[TransformCount, ...] = ()
    notes: tuple[OutsideText, ...] = ()
    differences: tuple[Difference, ...] = ()
    id_domain: OutsideText | None = None
    candidates_for: OutsideText | None = None
    label_folds: dict[OutsideText, OutsideText] = {}
    pairing: Pairing | None = None
    min_texts: Count | None = pydantic.Field(
        default=None, description="For user data: domains with fewer test texts are excluded from means"
    )

    @property
    def has_one_source(self) -> bool:
        """Return whether models are trained on a single source, and other domains are only used for testing."""
        return self.id_domain is not None or self.candidates_for is not None or self.pairing is not None

    @property
    def joined_source(self) -> str | None:
        """Return a pairing's training domains joined by ``+``, as in prediction files; None for other tasks."""
        every = self.domains | self.withheld
        trained = sorted(domain for domain, facts in every.items() if "train" in facts.splits)
        return SOURCE_JOINER.join(trained) if self.pairing is not None and trained else None

    @property
    def depth_pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs of source and target with a depth table (at least two train texts and one test text).

        Sources are single domains and, for a pairing, its ``joined_source``.
        """
        rows = {
            (domain, split): facts.rows
            for domain, splits in self.domains.items()
            for split, facts in splits.splits.items()
        }
        sources = [domain for domain in self.domains if rows.get((domain, "train"), 0) >= 2]
        if self.joined_source is not None and SOURCE_JOINER in self.joined_source:
            sources.append(self.joined_source)
        return tuple((source, target) for source in sources for target in self.domains if (target, "test") in rows)


Agreement = Literal["", "checksum", "rows", "number of rows"]
"""Property of a file that agrees with its record; ``""`` if none does."""


class SourceFile(_Facts):
    """One upstream file that was read."""

    path: OutsideText
    sha256: OutsideText
    rows: Count = pydantic.Field(description="Rows read, before any step")
    recorded_rows: Count | None = pydantic.Field(description="Recorded rows of the complete upstream file, if known")
    unverified: bool = pydantic.Field(
        default=False, description="Matches no record: there is none, or it is of another revision"
    )
    agrees: Agreement = pydantic.Field(
        default="", description="Property that agrees with the record: bytes, all rows (inputs and gold), or row count"
    )
    lacks: tuple[OutsideText, ...] = pydantic.Field(
        default=(), description="Parts of the release that this copy lacks, such as annotators' votes"
    )

    @property
    def recorded(self) -> str:
        """Return the recorded number of rows, and what agrees with the record, as text."""
        rows = "not known" if self.recorded_rows is None else f"{self.recorded_rows:,}"
        agree = f"{self.agrees} {'agree' if self.agrees == 'rows' else 'agrees'}" if self.agrees else ""
        return "; ".join(filter(None, (rows, agree, "matches no record" if self.unverified else "")))


OWN_LICENCE = "yours"
"""Placeholder licence of user data until its publisher states one."""


class SourceFacts(_Facts):
    """A source of rows and its terms; with an ``open_licence`` the rows may be redistributed.

    ``spdx``, ``licence_url``, ``harm``, ``personal_data`` and ``annotators`` are as in
    ``shiftbench.builders.specs.sources``; older folders lack them.
    """

    title: OutsideText
    url: OutsideText
    revision: OutsideText
    licence: OutsideText
    open_licence: bool
    citation: OutsideLines
    spdx: OutsideText | None = None
    licence_url: OutsideText | None = None
    harm: OutsideText = ""
    personal_data: OutsideText = ""
    annotators: OutsideText | None = None
    files: tuple[SourceFile, ...] = ()

    @property
    def lacks(self) -> str:
        """Return a sentence on parts of the release that are missing from the files read; ``""`` if none is."""
        by_lack: dict[str, list[str]] = {}
        for file in self.files:
            if file.lacks:
                by_lack.setdefault(" and ".join(file.lacks), []).append(file.path)
        lacking = [f"{', '.join(paths)} lack{'s' * (len(paths) == 1)} {lack}" for lack, paths in by_lack.items()]
        return f"{'; '.join(lacking)}, which the release has." if lacking else ""

    @property
    def may_hurt(self) -> bool:
        """Return whether its texts may contain harmful content."""
        return self.harm not in ("", "none")

    @property
    def terms(self) -> str:
        """Return the title with the licence."""
        return f"{self.title}, licence: {self.licence}"


class EncoderFacts(_Facts):
    """The encoder used for the depths."""

    id: OutsideText
    revision: OutsideText
    dimensions: Count


class Manifest(_Facts):
    """The content of ``shiftbench.json``.

    ``label_key`` is only present in gold folders: test labels are hashed with it, so that they cannot be recovered by
    brute force without it.
    """

    format_version: Count = FORMAT_VERSION
    builder_version: OutsideText
    benchmark: OutsideText
    title: OutsideText
    seed: Seed
    partial: bool
    unverified: bool = pydantic.Field(
        default=False, description="Some upstream file matches no record and may be incomplete; see the sources"
    )
    synthetic: bool
    content_hash: OutsideText
    settings_hash: OutsideText | None = pydantic.Field(
        default=None, description="Hash of the settings that affect scores; None in older folders"
    )
    tasks: dict[OutsideText, TaskInfo]
    sources: dict[OutsideText, SourceFacts]
    encoder: EncoderFacts | None
    target_train_depths: bool = pydantic.Field(
        default=False, description="Depth tables also contain the target's train texts (since builder version 0.2.0)"
    )
    lists_repeats: bool = pydantic.Field(
        default=False,
        description="Every task except placebos has a list of test rows that repeat a train text (since 0.2.0)",
    )
    files: dict[OutsideText, OutsideText] = pydantic.Field(
        default={}, description="SHA-256 of each file of rows, depths and ids, by path"
    )
    label_key: OutsideText | None = None
    publication: Publication | None = pydantic.Field(
        default=None, description="The publisher's metadata; None before 'data publish --cite'"
    )

    @pydantic.model_validator(mode="after")
    def _paths_are_inside(self) -> "Manifest":
        """Check that all paths, listed or derived from names, are inside the folder's subfolders."""
        for path in self.files:
            parts = PurePosixPath(path).parts
            if "\\" in path or "\0" in path or ".." in parts or len(parts) < 2 or parts[0] not in DATA_FOLDERS:
                raise ValueError(f"the file {path[:200]!a} is not in one of {', '.join(DATA_FOLDERS)}")
        for task, info in self.tasks.items():
            for name in (task, *info.domains, *info.withheld, *info.subsets):
                if name in ("", ".", "..") or not {"/", "\\", "\0"}.isdisjoint(name):
                    raise ValueError(f"{name[:200]!a} is a path, not a name of a task, domain or subset")
        return self

    @pydantic.model_validator(mode="after")
    def _terms_agree(self) -> "Manifest":
        """Check that ``rebuild_only`` agrees with the licences of each domain's sources."""
        for task, info in self.tasks.items():
            for domain, facts in (*info.domains.items(), *info.withheld.items()):
                unlisted = [source for source in facts.sources if source not in self.sources]
                if unlisted:
                    raise ValueError(f"{task}.{domain} is made from a source that is not listed: {unlisted[0]}")
                if facts.rebuild_only != bool(self.closed_sources(facts)):
                    raise ValueError(
                        f"{task}.{domain} has a value of rebuild_only that does not match the licences of its sources"
                    )
            open_ = [domain for domain, facts in info.withheld.items() if not facts.rebuild_only]
            if open_:
                raise ValueError(f"{task}.{open_[0]} is withheld, though its rows may be published")
        return self

    @pydantic.model_validator(mode="after")
    def _key_is_kept(self) -> "Manifest":
        """Check that a folder without test labels does not contain the key of their hashes."""
        if self.withholds_labels and self.label_key is not None:
            raise ValueError("test labels are withheld, but the folder contains the key to their hashes")
        return self

    @property
    def version(self) -> DataVersion:
        """Return the hashes of content and settings."""
        return DataVersion(self.content_hash, self.settings_hash)

    @property
    def withholds_labels(self) -> bool:
        """Return whether any split's labels are withheld."""
        return any(
            split.withheld_labels
            for task in self.tasks.values()
            for facts in task.domains.values()
            for split in facts.splits.values()
        )

    @property
    def unverified_files(self) -> tuple[str, ...]:
        """Return the paths of upstream files that match no record: they may be incomplete."""
        return tuple(file.path for source in self.sources.values() for file in source.files if file.unverified)

    @property
    def has_public_labels(self) -> bool:
        """Return whether the test labels are public.

        They are not public if the build withheld labels; this applies to both its public and its gold folder.
        """
        return self.label_key is None and not self.withholds_labels

    @property
    def sources_here(self) -> tuple[SourceFacts, ...]:
        """Return the sources of the folder's rows, in the order of tasks and domains."""
        every = [facts for task in self.tasks.values() for facts in task.domains.values()]
        return tuple(self.sources[slug] for slug in dict.fromkeys(slug for facts in every for slug in facts.sources))

    def closed_sources(self, facts: DomainFacts) -> tuple[SourceFacts, ...]:
        """Return the sources of a domain whose licences do not allow publishing its rows.

        Args:
            facts: the domain's manifest entry.
        """
        sources = (self.sources[source] for source in facts.sources)
        return tuple(source for source in sources if not source.open_licence)

    def why_withheld(self, facts: DomainFacts) -> str:
        """Return a sentence naming the sources whose licences do not allow publishing a domain's rows.

        Args:
            facts: the domain's manifest entry.
        """
        return closed_words(self.closed_sources(facts))

    def build_command(self, task: str) -> str:
        """Return the shell command that builds a task.

        Args:
            task: its name; a placebo (``nli.placebo``) is built with its original.
        """
        name = task.partition(".")[0]
        is_own = self.benchmark != "own" and name in self.tasks and self.tasks[name].min_texts is not None
        what = f"own {name} --spec SPEC" if is_own else f"{self.benchmark} {name}"
        return f"shiftbench build {what} --raw RAW --out DIR"

    def as_text(self) -> str:
        """Return the manifest as the text of its file."""
        unsaid = {"publication"} if self.publication is None else set()
        return json.dumps(self.model_dump(mode="json", exclude=unsaid), indent=2, ensure_ascii=False) + "\n"

    def write(self, folder: Path) -> None:
        """Write ``shiftbench.json`` into a dataset folder."""
        (folder / MANIFEST).write_text(self.as_text(), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read ``shiftbench.json`` of a dataset folder.

        Args:
            folder: the folder.
        Raises: InvalidInput if it is missing, damaged, or has another format version.
        """
        path = folder / MANIFEST
        if not path.is_file():
            pair = [name for name in (PUBLIC_FOLDER, GOLD_FOLDER) if (folder / name / MANIFEST).is_file()]
            cure = f"give {' or '.join(str(folder / name) for name in pair)}" if pair else _NO_MANIFEST_CURE
            raise InvalidInput(Problem("this is not a dataset folder", str(folder), f"no {MANIFEST} in it", cure))
        try:
            content: Any = parse_json(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InvalidInput(
                Problem("the manifest is not JSON", str(path), str(error), "build the folder again")
            ) from error
        format_version = content.get("format_version") if isinstance(content, dict) else None
        if format_version != FORMAT_VERSION:
            what = f"the folder has format version {format_version}, this program reads version {FORMAT_VERSION}"
            raise InvalidInput(Problem(what, str(path), cure="build the folder again, or install the matching version"))
        try:
            return cls.model_validate(content)
        except pydantic.ValidationError as error:
            raise InvalidInput(
                Problem("the manifest is damaged", str(path), str(error.errors()[0]), "build the folder again")
            ) from error


_NO_MANIFEST_CURE = "give a folder written by 'shiftbench build'"


def closed_words(sources: Sequence[SourceFacts]) -> str:
    """Return a sentence stating that these sources' licences do not allow publishing their rows."""
    *others, last = [source.title for source in sources]
    if not others:
        return f"the licence of {last} does not allow publishing its rows"
    return f"the licences of {', '.join(others)} and {last} do not allow publishing their rows"
