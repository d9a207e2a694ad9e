"""STARS v1: Ascend 910B, 910_93, 310B and relatives.

``sqe.yaml`` and ``descriptor.yaml`` hold the layouts, a module per topic of `chips.tasks` the builders and their rows,
``plugin`` the table of all.
"""
