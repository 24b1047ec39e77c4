"""The eight source-target pairings of the Depth F1 paper (Table 1), each a task of its own.

Source: Depth F1 paper, sec. 4.1 and Table 1 (sizes, Q). A task's name is the paper's in lower case, its config the
paper's own; texts of the source's domains are drawn together, which gives the pairing's depths and its Depth F1.

In: the genres of ``shiftbench.builders.dr``. Out: ``TASKS``, the specs that ``building`` carries out.
"""

from shiftbench.builders.df1.inference import MUS_3, MUS_4, SIS_3, SIS_4
from shiftbench.builders.df1.sentiment import MUS_1, MUS_2, SIS_1, SIS_2

TITLE = "Source-target pairings of the Depth F1 paper"
TASKS = (SIS_1, SIS_2, SIS_3, SIS_4, MUS_1, MUS_2, MUS_3, MUS_4)
