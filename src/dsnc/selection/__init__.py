"""Chooses the decoder of a model from the results of training: one call, one report."""

from dsnc.selection.choose import Chosen, SelectionSettings, choose
from dsnc.selection.class_vectors import VectorTrainer
from dsnc.selection.gather import gather
from dsnc.selection.report import DecoderReport, Trial

__all__ = [
    "Chosen",
    "DecoderReport",
    "SelectionSettings",
    "Trial",
    "VectorTrainer",
    "choose",
    "gather",
]
