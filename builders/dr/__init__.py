"""The Domain Robustness benchmark: seven tasks, thirty-nine domains, each a literal in the module of its task.

Source: Domain Robustness paper, sec. 4, Table 2 (sizes), appendix D (processing) and C.7 (the imbalanced variant).

In: nothing; these are decisions. Out: ``TASKS``, the specs that ``building`` carries out.
"""

from builders.dr.aspects import AB
from builders.dr.inference import NLI
from builders.dr.posts import AS
from builders.dr.questions import QA, QA_IMBALANCED, QG
from builders.dr.sentiment import SA
from builders.dr.titles import TG

TITLE = "Domain Robustness (DR)"
TASKS = (SA, NLI, AB, QA, QA_IMBALANCED, QG, AS, TG)
