"""The submit form as plain HTML: a file, a card as text, as a file or by fields; it needs no script."""

from collections.abc import Mapping, Sequence

from builders.folder.reader import DatasetFolder
from leaderboard.board.submission import Answer
from leaderboard.views.answer import answer_html
from leaderboard.views.card_fields import card_fields
from leaderboard.views.html import Markup, render


def plain_submit_html(
    folders: Sequence[DatasetFolder],
    values: Mapping[str, str],
    answer: Answer | None = None,
    *,
    may_submit: bool,
    daily_quota: int | None,
) -> Markup:
    """Build the page's body.

    Args:
        folders: the datasets that submissions are for.
        values: what the fields hold, by key of the card; ``card`` is its text.
        answer: to what was sent with them; None before anything was sent.
        may_submit: whether this form can submit, and not check alone.
        daily_quota: entries of one submitter a UTC day; None: any number.
    Returns: the form, under the answer.
    """
    return render(
        "plain_submit.html",
        groups=card_fields(folders),
        values=values,
        answer=answer_html(answer) if answer is not None else "",
        may_submit=may_submit,
        daily_quota=daily_quota,
    )
