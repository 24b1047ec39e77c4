"""Pictures of scores, drawn on the server as SVG, in milliseconds and without a script.

axes    the one core: axes with round ticks, the frame, marks, intervals, legends
rows    a row for each domain, slice, source, model: scores, forecasts, differences, gaps, rank intervals, depths
charts  shifts by their drops; Depth F1; confidences; forecasts over the truth; scores over time
words   names and sentences that several share
files   a picture as an SVG or PNG file by itself

Values come in as fractions and are drawn in points. Colours are CSS variables, so that light and dark both work.

In: scores of one task. Out: SVG.
"""
