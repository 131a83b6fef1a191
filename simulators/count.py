"""A number of pairs as text, on command lines."""


def count(text):
    """The whole number >= 1 that text is, "1e6" too. Raises ValueError saying what is allowed."""
    try:
        number = float(text)
        if number >= 1 and number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"{text!r} is not a number of pairs such as 1000 or 1e6")
