"""Why a request or a file makes no images."""


class Unusable(Exception):
    """No attempt can make images of this. The text says what is wrong and what is allowed, but not of which file."""
