"""Steps that several data sets of BOSS share."""

from builders.transforms import group_by_text, keep_filled, one_space, select

LABELLED_TEXT = select("text", "label")
TEXT = (one_space("text"), keep_filled("text"), group_by_text("text"))
