"""The papers' analyses of any set of entries: tidy rows of numbers, and a picture of them.

entries     prediction files with their cards, or a store's entries, as one result for each entry and task; findings;
            entries that are states of one model, alike in all but what is varied
canvas      panels on one PNG; colours, labels
difficulty  average drops as ever easier shifts are added (Domain Robustness paper, Figure 2)
scenarios   shares of the four scenarios (its Figure 3)
scaling     performance and drops over model size, shots, training size and step (its Figures 4-12)
states      scores out of distribution over the score in it (BOSS paper, Figures 2-4)
effective   OOD scores above the line of the other entries, on logits
divergence  drops over the divergence of the domains' words (Domain Robustness paper, Table 8)
forecasts   forecasts of accuracy against the truth, method by method; three simulated shifts of known cause
grids       Theorem 1, ranks with a domain left out, means over models
figures     the list of all of them; drawing and writing; what was drawn and what was not

Each analysis finds its rows first, and draws nothing that is not in them. Rows are fractions, pictures are in points.

In: prediction files with cards, or a store. Out: pictures as PNG and their rows as CSV.
"""
