"""The loops of training, compiled.

One kernel runs all steps over some thousand rows, in each of several threads (`step`); what it does
to whole rows of numbers is in `vectors`, and how the threads wait for each other in `meeting`.
"""
