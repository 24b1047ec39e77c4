"""The Domain Robustness benchmark: seven tasks, thirty-nine domains, each defined in the module of its task.

Source: Domain Robustness paper, sec. 4, Table 2 (sizes), appendix D (processing) and C.7 (the imbalanced variant).

Output: ``TASKS``, the specs that ``building`` builds.
"""

from shiftbench.builders.dr.aspects import AB
from shiftbench.builders.dr.inference import NLI
from shiftbench.builders.dr.posts import AS
from shiftbench.builders.dr.questions import QA, QA_IMBALANCED, QG
from shiftbench.builders.dr.sentiment import SA
from shiftbench.builders.dr.titles import TG

TITLE = "Domain Robustness (DR)"
TASKS = (SA, NLI, AB, QA, QA_IMBALANCED, QG, AS, TG)
