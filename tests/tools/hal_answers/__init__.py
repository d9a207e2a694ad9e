"""Answers of a HAL compared with those that the real user-space driver library gave by itself.

`python -m tests.tools.hal_answers FILE.jsonl... [--url URL]`: each row of a file names a call of the list here and what
the library answered. The list is made in order, because later calls build on earlier ones (an open card, a queue, an
address); rows are matched by name.
"""
