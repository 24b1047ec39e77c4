"""What 'shiftbench data publish' does with a folder: its public copy, and the gold beside it, go where they belong."""

import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shiftbench.builders.folder.manifest import GOLD_FOLDER, MANIFEST, PUBLIC_FOLDER, Manifest
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.public import closed_domains, published_folder
from shiftbench.builders.publishing.publish import PublishPlan, check_folder, default_tag, plan_publishing, publish
from shiftbench.builders.publishing.repository import LocalFile, Target, local_files
from shiftbench.builders.writing.withhold import withheld_folders
from shiftbench.validation.report import InvalidInput, Problem

log = logging.getLogger(__name__)

Describe = Callable[[Manifest], Mapping[str, str]]
"""Writes further files that describe a dataset of this manifest, by their path in the repository."""


def publish_folders(
    folder: Path,
    repo_id: str,
    revision: str = "main",
    *,
    tag: str | None = None,
    private_gold: str | None = None,
    dry_run: bool = False,
    describe: Describe = lambda _: {},
    api: Any = None,
) -> dict[str, Any]:
    """Publish a dataset folder, or the two folders of a build that withholds labels.

    Both are checked and compared before anything is sent.

    Args:
        folder: the dataset folder, or the folder of the two.
        repo_id: repository of the dataset folder; of the two, of the public one.
        revision: branch, in both repositories.
        tag: of this version; default named by content.
        private_gold: repository of the gold folder; without it gold stays where it is.
        dry_run: compare, and send nothing.
        describe: further files to send with each dataset.
        api: a ``huggingface_hub.HfApi``; default one of the address and the token in the environment.
    Returns: what was sent, or would be.
    Raises: InvalidInput when something is refused, here or by the Hub.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    api = api or HfApi()
    public, gold = _parts(folder, repo_id, private_gold)
    with ExitStack() as stack:
        left_out, plan = _plan_public_copy(stack, public, (repo_id, revision, tag, False), describe, api)
        gold_plan = None
        if gold is not None and private_gold is not None:
            _, gold_plan = _plan_public_copy(stack, gold, (private_gold, revision, tag, True), describe, api)
        elif gold is not None:
            log.info("leave out %s: gold is published only to a repository given by --private-gold", gold)
        commit, commit_gold = (_carry_out(each, api, dry_run=dry_run) for each in (plan, gold_plan))
    content = {**_as_json(plan, commit), "left_out": left_out}
    return content | ({"gold": _as_json(gold_plan, commit_gold)} if gold_plan else {})


def _parts(folder: Path, repo_id: str, private_gold: str | None) -> tuple[Path, Path | None]:
    """Return the folder to publish, and the one with the gold where there is one."""
    pair = withheld_folders(folder)
    if pair is not None:
        if private_gold is not None and private_gold.casefold() == repo_id.casefold():
            cure = "give two repositories"
            raise InvalidInput(
                Problem("withheld labels may not go into the public repository", private_gold, cure=cure)
            )
        _refuse_other_pair(*pair)
        return pair
    if private_gold is not None:
        cure = "build with --withhold-labels and give the folder of both, or leave --private-gold out"
        found = f"no '{PUBLIC_FOLDER}' and '{GOLD_FOLDER}' in it"
        raise InvalidInput(Problem("this folder holds no withheld labels to publish", str(folder), found, cure))
    whole = folder.resolve()
    if whole.name == GOLD_FOLDER and (whole.parent / PUBLIC_FOLDER / MANIFEST).is_file():
        cure = f"publish {whole.parent} with --private-gold"
        raise InvalidInput(Problem("this folder holds test labels that are withheld", str(folder), cure=cure))
    return folder, None


def _refuse_other_pair(public: Path, gold: Path) -> None:
    """Raise InvalidInput where two folders are not of one build, or the public one has labels."""
    manifests = [DatasetFolder.open(path).manifest for path in (public, gold)]
    cure = "build the two again with --withhold-labels"
    if not manifests[0].withholds_labels or manifests[1].label_key is None:
        raise InvalidInput(Problem("the public folder has test labels", str(public), cure=cure))
    if manifests[0].content_hash != manifests[1].content_hash:
        found = " and ".join(manifest.content_hash[:12] for manifest in manifests)
        raise InvalidInput(Problem("'public' and 'gold' are from different builds", str(public), found, cure))


def _plan_public_copy(
    stack: ExitStack, path: Path, where: tuple[str, str, str | None, bool], describe: Describe, api: Any
) -> tuple[dict[str, str], PublishPlan]:
    """Compute the plan for what may be published of a folder; also return the domains that may not, and why."""
    repo_id, revision, tag, private = where
    opened = DatasetFolder.open(path)
    left_out = closed_domains(opened.manifest)
    if left_out:
        check_folder(opened)  # the public copy does not check what it copies
    for domain, why in left_out.items():
        log.info("leave out %s: %s", domain, why)
    public = stack.enter_context(published_folder(opened))
    described = describe(public.manifest)
    target = Target(repo_id, revision, tag or default_tag(public, described), private)
    plan = plan_publishing(public, target, api, _write_texts(stack, described))
    for line in plan.lines():
        log.info("%s", line)
    return left_out, plan


def _write_texts(stack: ExitStack, texts: Mapping[str, str]) -> dict[str, LocalFile]:
    """Write texts into a folder that is deleted when the stack is closed."""
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="shiftbench-publish-")))
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return local_files(folder)


def _carry_out(plan: PublishPlan | None, api: Any, *, dry_run: bool) -> str | None:
    if plan is None or dry_run:
        return None
    url = publish(plan, api)
    if url is not None:
        log.info("published: %s", url)
    return url


def _as_json(plan: PublishPlan, commit: str | None) -> dict[str, Any]:
    target = plan.target
    facts = {"repo_id": target.repo_id, "revision": target.revision, "tag": target.tag, "commit": commit}
    return {**facts, "add": plan.add, "delete": list(plan.delete)}
