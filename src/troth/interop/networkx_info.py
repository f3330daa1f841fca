"""What NetworkX may know of the backend before it loads it. NetworkX imports this module: it imports nothing itself."""

SEED = {"seed : int, optional": "chooses among the maximal matchings; without one, edges of earlier nodes come first"}


def get_info() -> dict:
    """The backend in NetworkX's words; they appear in the documentation of its functions.

    Examples
    --------
    >>> sorted(get_info()["functions"])[:2]
    ['is_matching', 'is_maximal_matching']
    """
    found = {
        "additional_docs": "Found in parallel. Converting the graph takes longer than that; it is done once.",
        "additional_parameters": SEED,
    }
    checked = {"additional_docs": "Worth it where the graph is converted already, as after ``maximal_matching``."}
    return {
        "backend_name": "troth",
        "project": "troth",
        "package": "troth",
        "short_summary": "Heavy matchings in big graphs; here: maximal ones, and checks.",
        "functions": {
            "is_matching": checked,
            "is_maximal_matching": checked,
            "is_perfect_matching": checked,
            "maximal_matching": found,
            "min_maximal_matching": found,
        },
    }
