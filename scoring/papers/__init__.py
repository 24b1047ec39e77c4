"""The papers' analyses other than scores: their figures (``analysis``), and the choice of data sets (``protocol``)."""
