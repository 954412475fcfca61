"""The paper, reproduced on any data.

`experiments` runs it (definition -> raw record -> table), `report` makes a page of the records.
"""
