"""Pictures of scores, drawn on the server as SVG or as HTML tables, in milliseconds and without a script.

colours     scales of the matrices, sources and scenarios; contrast
axes        axes with round ticks, the frame of a picture, marks
rows        ticks, row names and the scrolling box of pictures that have a row per domain or shift
words       names and sentences that several share
matrix      names by names, a cell where they meet
heatmap     sources by targets: ST, SD or TD
plane       every shift by its two drops, over the four scenarios
by_idd      average drops as ever easier shifts are added (Domain Robustness paper, Figure 2)
by_domain   one model's scores by domain
under_shift entries by their score under shift, over their score in domain, size, cost or date
forecast_plane  forecasts over the truth
curves      Depth F1 and drops by depth, of one entry or several
id_ood      scores out of distribution over the score in it
flips       transfer loss and gain of every shift
reliability accuracy by confidence, and error rate by share of texts answered
depths      how deep targets lie in a source

Values come in as fractions and are drawn in points. Colours are CSS variables, so that light and dark both work.

In: scores of one task. Out: SVG, or an HTML table.
"""
