"""The BOSS benchmark: five tasks of one ID and three OOD data sets, and their sixteen candidates.

Each data set is defined in the module of its task. Source: BOSS paper, sec. 2 (Tables 1 and 4), appendix C
(processing) and D (candidates); if the authors' code differs from the paper and the reported sizes agree with the code,
we follow the code.

Output: ``TASKS``, the specs that ``building`` builds.
"""

from shiftbench.builders.boss.answering import EQA, EQA_CANDIDATES
from shiftbench.builders.boss.entities import NER, NER_CANDIDATES
from shiftbench.builders.boss.inference import NLI, NLI_CANDIDATES
from shiftbench.builders.boss.sentiment import SA, SA_CANDIDATES
from shiftbench.builders.boss.toxicity import TD, TD_CANDIDATES

TITLE = "BOSS: a benchmark suite for out-of-distribution robustness"
TASKS = (SA, TD, NLI, NER, EQA, SA_CANDIDATES, TD_CANDIDATES, NLI_CANDIDATES, NER_CANDIDATES, EQA_CANDIDATES)
