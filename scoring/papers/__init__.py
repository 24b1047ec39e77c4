"""What the papers do beyond scores: their figures (``analysis``), and the choice of data sets (``protocol``)."""
