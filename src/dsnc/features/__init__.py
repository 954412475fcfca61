"""Texts to sparse rows of numbers, for those who come with strings."""

from dsnc.features.inputs import TextRows, are_none, are_texts
from dsnc.features.text import TextFeatures

__all__ = ["TextFeatures", "TextRows", "are_none", "are_texts"]
