"""The page that says what is measured, what is ranked, and how to use the leaderboard from programs."""

from leaderboard.views.html import Markup, render


def about_page() -> Markup:
    """Write what measures, ranks and endpoints are."""
    return render("about.html")
