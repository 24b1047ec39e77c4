"""The statistics page of a task: its figures, whether they keep what is assumed, its picture and part of the card."""
