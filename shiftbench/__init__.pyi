from . import metrics as metrics
from .builders.folder.dataset_builder import dataset_builder as dataset_builder
from .builders.folder.reader import DatasetFolder as DatasetFolder
from .notebook.api import (
    build_own as build_own,
    compare as compare,
    open_dataset as open_dataset,
    ranks as ranks,
    score as score,
    submit as submit,
    validate as validate,
)
from .notebook.own import (
    check as check,
    forecast as forecast,
    gate as gate,
    label as label,
    plan as plan,
    predict as predict,
)
from .notebook.results import (
    CheckResult as CheckResult,
    ComparisonResult as ComparisonResult,
    ForecastResult as ForecastResult,
    GateResult as GateResult,
    LabelResult as LabelResult,
    PlanResult as PlanResult,
    RankResult as RankResult,
    SampledResult as SampledResult,
    ScoreResult as ScoreResult,
)
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
