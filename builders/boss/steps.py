"""What several data sets of BOSS share."""

from shiftbench.builders.specs.transforms import group_by_text, keep_filled, one_space, select

LABELLED_TEXT = select("text", "label")
TEXT = (one_space("text"), keep_filled("text"), group_by_text("text"))
AS_UPSTREAM = (
    "Texts are as upstream has them but for tabs and runs of spaces: white space at their ends, line breaks and codes "
    "such as &amp; stay."
)
