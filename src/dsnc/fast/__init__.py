"""Training without torch: whole steps in compiled kernels, at a cost that few classes set.

A step scores a row's own class, the nearest by code and some at random, not all. Linear encoders of
sparse rows, dense rows and texts are learned here, on a CPU; for everything else there is
`dsnc.training`.
"""

from dsnc.fast.learner import FastLearner

__all__ = ["FastLearner"]
