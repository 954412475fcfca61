"""Other people's tools, each in an environment of its own, on the same rows and texts as dsnc.

command.py       the command line: who takes part, turns, the table and its record
environments.py  an environment for each tool, made when it is first needed
prepare.py       any data set -> a folder that every tool reads; data.py reads it
measure.py       what runs inside a tool's environment: trains, predicts, reports figures
paired.py        which differences are more than chance, by the answers of the same rows
contestant.py    what a tool has to be able to do; contestants/ has a file for each
"""
