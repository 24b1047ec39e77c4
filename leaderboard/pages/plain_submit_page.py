"""The submit form as plain HTML: a file, a card as text, as a file or by fields; it needs no script."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.submission import SubmissionAnswer
from shiftbench.leaderboard.pages.answer import answer_html
from shiftbench.leaderboard.pages.card_fields import card_fields
from shiftbench.leaderboard.pages.shell import render
from shiftbench.scoring.reports.frame.html import Markup


@dataclass(frozen=True)
class Access:
    """How somebody may submit here.

    Attributes:
        may_submit: whether this form can submit, and not check alone.
        signed_in_as: the name of the user who has signed in; None without one, or where nobody needs to.
        sign_in_address: where one signs in; None where no browser can.
    """

    may_submit: bool = True
    signed_in_as: str | None = None
    sign_in_address: str | None = None


def plain_submit_html(
    folders: Sequence[DatasetFolder],
    values: Mapping[str, str],
    answer: SubmissionAnswer | None = None,
    *,
    access: Access,
    daily_quota: int | None,
) -> Markup:
    """Build the page's body.

    Args:
        folders: the datasets that submissions are for.
        values: what the fields hold, by key of the card; ``card`` is its text.
        answer: to what was sent with them; None before anything was sent.
        access: whether this form can submit, and as whom.
        daily_quota: entries of one submitter a UTC day; None: any number.
    Returns: the form, under the answer.
    """
    return render(
        "plain_submit.html",
        groups=card_fields(folders),
        values=values,
        answer=answer_html(answer) if answer is not None else "",
        access=access,
        daily_quota=daily_quota,
    )
