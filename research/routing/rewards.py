"""Whether a model answers the request, and the price of asking it."""

_PRICES = {"small": 1.0, "medium": 3.0, "large": 10.0}  # cents a page
_MODELS = list(_PRICES)
_PAGES = {"line": 0.1, "page": 1.0, "book": 10.0}


def correct(completions, answer, **_):
    """1 if the named model is the least one that answers the request, or a larger one."""
    asked = [text.strip() for text in completions]
    return [
        float(one in _MODELS and _MODELS.index(one) >= _MODELS.index(least))
        for one, least in zip(asked, answer, strict=True)
    ]


def dollars(completions, kind, **_):
    """The price of the named model for the length of the request; 0 if no model is named."""
    asked = [text.strip() for text in completions]
    cents = [_PRICES.get(one, 0.0) * _PAGES[pages] for one, pages in zip(asked, kind, strict=True)]
    return [one / 100.0 for one in cents]
