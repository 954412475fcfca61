"""What happens when things go wrong: kills, mutants, full disks, two writers, hostile input.

``python benchmarks/reliability -h``. Every trial has a number, and is the same whenever it is tried
again with that number and seed.
"""
