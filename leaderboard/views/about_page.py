"""The page that says what is measured, what is ranked, and how to use the leaderboard from programs."""

from leaderboard.views.html import Markup, render


def about_page() -> Markup:
    """Build the page that explains measures, ranks and endpoints.

    Returns: what stands below the page's head.
    """
    return render("about.html")
