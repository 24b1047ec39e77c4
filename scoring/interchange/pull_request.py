"""Sending files to a repository of the Hub as a pull request, for its owners to merge or close.

A request that fails is not made again by itself: one that landed though its answer got lost would be there twice.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from shiftbench.builders.hub_access import writing_to_hub
from shiftbench.validation.report import InvalidInput, Problem, first_line

RepositoryType = Literal["model", "dataset"]
_CURE = "check whether the pull request exists; if not, run the command again"


def send_files(
    files: Mapping[str, Path], repo_id: str, repo_type: RepositoryType, title: str, description: str, api: Any = None
) -> str:
    """Open a pull request that adds files, or replaces them.

    Args:
        files: by path in the repository.
        repo_id: ``ORG/NAME``, which must be there.
        repo_type: model or dataset.
        title: of the pull request.
        description: its text.
        api: a ``huggingface_hub.HfApi``; default one of the address and the token in the environment.
    Returns: the pull request's URL.
    Raises: InvalidInput when the Hub refuses, or cannot be reached.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    with writing_to_hub(repo_id, _CURE):
        done = (api or HfApi()).create_commit(
            repo_id,
            [CommitOperationAdd(path, str(file)) for path, file in files.items()],
            commit_message=title,
            commit_description=description,
            repo_type=repo_type,
            create_pr=True,
        )
    return str(done.pr_url)


def send_metadata(metadata: dict[str, Any], repo_id: str, title: str, description: str) -> str:
    """Open a pull request that merges metadata into the README of a model.

    Args:
        metadata: keys of the front matter, as ``huggingface_hub.metadata_update`` takes them.
        repo_id: ``ORG/NAME`` of the model, which must be there.
        title: of the pull request.
        description: its text.
    Returns: the pull request's URL.
    Raises: InvalidInput when the README has another value of the same figure, the Hub refuses, or cannot be reached.
    """
    from huggingface_hub import metadata_update

    with writing_to_hub(repo_id, _CURE):
        try:
            return str(
                metadata_update(repo_id, metadata, create_pr=True, commit_message=title, commit_description=description)
            )
        except ValueError as error:
            what = "these results cannot be merged into the model's README"
            cure = "fix its front matter, or share with --to eval-results"
            raise InvalidInput(Problem(what, repo_id, first_line(error), cure)) from error
