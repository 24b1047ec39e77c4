from . import metrics as metrics
from .builders.folder.dataset_builder import dataset_builder as dataset_builder
from .builders.folder.reader import DatasetFolder as DatasetFolder
from .notebook.api import (
    build_own as build_own,
    compare as compare,
    open_dataset as open_dataset,
    score as score,
    submit as submit,
    validate as validate,
)
from .notebook.results import ComparisonResult as ComparisonResult, ScoreResult as ScoreResult
from .scoring.scores.score import score_file as score_file
from .validation.cards import Card as Card
from .validation.notices import (
    CardWarning as CardWarning,
    DataWarning as DataWarning,
    FormerName as FormerName,
    ModelWarning as ModelWarning,
    ShiftbenchWarning as ShiftbenchWarning,
)
from .validation.report import InvalidInput as InvalidInput
from .version import __version__ as __version__
