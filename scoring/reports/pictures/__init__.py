"""Plots of scores, rendered on the server as SVG, in milliseconds and without scripts.

axes    the shared core: axes with round ticks, the frame, marks, intervals, legends
rows    one row per domain, slice, source or model: scores, forecasts, differences, gaps, rank intervals, depths
charts  shifts by their drops; Depth F1; confidences; forecasts against the truth; scores over time
words   shared names and sentences
files   a plot as a stand-alone SVG or PNG file

Values are passed as fractions and drawn in points. Colours are CSS variables, so that light and dark themes work.

Input: scores of one task. Output: SVG.
"""
