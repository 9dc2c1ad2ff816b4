"""Kinds of options that the commands here have in common, for argparse's `type`."""

import argparse
import re


def regular_expression(text):
    """The text itself, of which only whether it can be searched for is checked."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None
    return text
