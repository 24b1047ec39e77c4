"""Results for the datastore of Every Eval Ever (evaleval/every_eval_ever), in its format 0.3.0.

``data/shiftbench/<developer>/<model>/<uuid>.json`` contains all values of an entry: fractions, drops with
``lower_is_better``, intervals in the fields for uncertainty. The tests validate the file with that project's JSON
schema, because its validator needs Python 3.12.
"""

import hashlib
import json
import re
import uuid
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from shiftbench.scoring.interchange.figures import SharedFigure, figures_of
from shiftbench.scoring.interchange.shared_entry import SharedEntry
from shiftbench.scoring.scores.shape import Interval

DATASTORE = "evaleval/EEE_datastore"
"""The dataset repository that accepts results by pull request."""
SCHEMA_VERSION = "0.3.0"
COLLECTION = "shiftbench"
_CARD_KEYS = (
    "base_model", "family", "parameters", "tunable_parameters", "paradigm", "shots", "training_size", "step",
    "model_selection", "tuning_trials", "extra_data", "licence", "code_url", "paper_url",
)  # fmt: skip
_UNUSABLE = re.compile(r'[<>:"\\|?*\x00-\x1f]')


def every_eval_ever(
    shared: SharedEntry, organization: str, relationship: str | None = None, now: datetime | None = None
) -> dict[str, str]:
    """Build the file of an entry's results.

    Args:
        shared: the entry; its model is a repository of the Hub.
        organization: the name of the organization that provides the results.
        relationship: to the model's developer: first_party, third_party, collaborative or other; None: first_party if
            the organization owns the model's repository, otherwise other.
        now: time of the record; None: now.

    Returns: JSON by its path in the datastore; the path is the same for the same scores of the same model.

    Raises: InvalidInput if the model's repository is not known.
    """
    model, scores = shared.model_repository(), shared.scores
    owner, name = model.split("/", 1)
    developer, folder = (_UNUSABLE.sub("_", part).rstrip(". ") for part in (owner, name))
    made_of = json.dumps([model, shared.card.as_dict(), scores.model_dump(mode="json")], sort_keys=True)
    identity = uuid.UUID(bytes=hashlib.sha256(made_of.encode()).digest()[:16], version=4)
    own = organization.casefold() == owner.casefold()
    url = {"source_organization_url": shared.report} if shared.report else {}
    evaluated = {"evaluation_timestamp": shared.evaluated_at} if shared.evaluated_at else {}
    content: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{COLLECTION}-{scores.benchmark}/{model.replace('/', '_')}/{identity}",
        **evaluated,
        "retrieved_timestamp": str(int((now or datetime.now(UTC)).timestamp())),
        "source_metadata": {
            "source_name": "shiftbench",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            **url,
            "evaluator_relationship": relationship or ("first_party" if own else "other"),
        },
        "eval_library": {
            "name": "shiftbench",
            "version": version("shiftbench"),
            "additional_details": _strings({"metric_version": scores.metric_version}),
        },
        "model_info": {
            "name": shared.card.name,
            "id": model,
            "developer": owner,
            # The card does not state who ran the model, or whether its weights are open.
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                **_strings({key: getattr(shared.card, key) for key in _CARD_KEYS}),
            },
        },
        "evaluation_results": [_result(shared, figure) for figure in figures_of(scores)],
    }
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    return {f"data/{COLLECTION}/{developer}/{folder}/{identity}.json": text}


def _result(shared: SharedEntry, figure: SharedFigure) -> dict[str, Any]:
    manifest, n_texts = shared.manifest, {} if figure.n is None else {"samples_number": figure.n}
    facts = _strings(
        {
            "content_hash": shared.scores.data,
            "settings_hash": shared.scores.settings,
            "subset": shared.scores.subset,
            "config": shared.config(figure.task),
            "depth_encoder": shared.scores.depth_encoder,
        }
    )
    data = {"dataset_name": manifest.title, "additional_details": facts}
    on_hub = {"source_type": "hf_dataset", "hf_repo": shared.dataset, "hf_split": "test", **n_texts}
    return {
        "evaluation_result_id": figure.key,
        "evaluation_name": f"{COLLECTION}-{manifest.benchmark}/{figure.key}",
        "source_data": data | (on_hub if shared.dataset else {"source_type": "other"}),
        "metric_config": {
            "evaluation_description": shared.notes(figure),
            "metric_id": f"{COLLECTION}.{figure.name.partition('@')[0]}",
            "metric_name": figure.words,
            "metric_kind": figure.metric,
            "metric_unit": "proportion",
            "lower_is_better": figure.is_drop,
            "score_type": "continuous",
            "min_score": -1.0 if figure.is_drop else 0.0,
            "max_score": 1.0,
        },
        "score_details": _score(figure),
    }


def _score(figure: SharedFigure) -> dict[str, Any]:
    estimate = figure.estimate
    # If training variance was measured, models should be compared by the interval that includes it.
    bounds = figure.total
    method = "Wilson and Student limits over groups of test texts and training runs"
    if bounds is None and estimate.low is not None and estimate.high is not None:
        bounds = Interval(low=estimate.low, high=estimate.high)
        method = "Wilson and Student limits over groups of test texts, these trained models"
    if bounds is None:
        return {
            "score": figure.value,
            "details": {"no_interval": estimate.no_interval or "undefined for this statistic"},
        }
    interval = {"lower": bounds.low, "upper": bounds.high, "confidence_level": 0.95, "method": method}
    n_texts = {} if figure.n is None else {"num_samples": figure.n}
    return {
        "score": figure.value,
        "details": _strings({"runs": figure.runs, "source": figure.source, "target": figure.target}),
        "uncertainty": {"confidence_interval": interval, **n_texts},
    }


def _strings(facts: dict[str, Any]) -> dict[str, str]:
    """Format facts as strings; unknown ones are omitted."""
    return {key: str(value) for key, value in facts.items() if value is not None}
