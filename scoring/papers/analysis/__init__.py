"""The papers' analyses for any set of entries: tidy rows of numbers, and a figure drawn from them.

entries     prediction files with their cards, or a store's entries, as one result per entry and task; findings;
            entries that are states of one model, identical except for the factor that varies
canvas      panels on one PNG; colours, labels
difficulty  average drops as easier shifts are added (Domain Robustness paper, Figure 2)
scenarios   shares of the four scenarios (its Figure 3)
scaling     scores and drops over model size, shots, training size and step (its Figures 4-12)
states      OOD scores against the ID score (BOSS paper, Figures 2-4)
effective   effective robustness: OOD scores above the line fitted to the other entries, on logits
divergence  drops against the divergence of the domains' word distributions (Domain Robustness paper, Table 8)
forecasts   forecasts of accuracy against the truth, by method; three simulated shifts of known cause
grids       Theorem 1, ranks under leave-one-domain-out, means over models
figures     the list of analyses; draws and writes them, and reports which were drawn

Each analysis computes its rows first, and draws only what is in them. Rows are fractions, figures are in points.

Input: prediction files with cards, or a store. Output: figures as PNG and their rows as CSV.
"""
