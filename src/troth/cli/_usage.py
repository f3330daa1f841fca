"""What typer says of bad usage, in plain words: it has those of click, or of the library by which it reads values."""

from __future__ import annotations

import re

from troth.words import did_you_mean

# What a reader of values says, and what is meant.
WORDS = (
    (r"Value error, ", ""),
    (r"Input should be a valid integer\b.*", "give a whole number"),
    (r"Input should be a valid number\b.*", "give a number"),
    (r"Input should be greater than or equal to (\S+)", r"give \1 or more"),
    (r"Input should be less than or equal to (\S+)", r"give \1 or less"),
    (r"Input should be (a valid )?", "give "),
    (r"\(Possible options: (.*?)\)", r"(did you mean \1?)"),
)


def plain_words(message: str) -> str:
    """A message of typer without words of its libraries, and with the choice that is most like what was said.

    >>> plain_words("Invalid value for '--seed': Input should be a valid integer, unable to parse string as an integer")
    "Invalid value for '--seed': give a whole number"
    >>> plain_words("Invalid value for '--ties': Value error, 'hsah' is not one of 'hash', 'low'.")
    "Invalid value for '--ties': 'hsah' is not one of 'hash', 'low' (did you mean 'hash'?)"
    """
    for pattern, words in WORDS:
        message = re.sub(pattern, words, message)
    if chosen := re.search(r"'([^']*)' is not one of ('.*')", message):
        hint = did_you_mean(chosen[1], re.findall(r"'([^']*)'", chosen[2]))
        message = message.rstrip(".") + hint
    return message
