"""Pictures of scores, drawn on the server as SVG or as HTML tables, in milliseconds and without a script.

colours     scales of the matrices, sources and scenarios; contrast
axes        axes with round ticks, the frame of a picture, marks
rows        a row per domain: one model's scores, how deep targets lie in a source; what flips shares with them
words       names and sentences that several share
heatmap     names by names, a cell where they meet; sources by targets: ST, SD or TD
planes      every shift by its two drops; scores out of distribution over the score in it; forecasts over the truth
curves      Depth F1 and drops by depth, of one entry or several; average drops as ever easier shifts are added
            (Domain Robustness paper, Figure 2)
flips       transfer loss and gain of every shift

Values come in as fractions and are drawn in points. Colours are CSS variables, so that light and dark both work.

In: scores of one task. Out: SVG, or an HTML table.
"""
