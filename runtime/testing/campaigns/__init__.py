"""Campaigns: many independent runs, each known by its own numbers, on whatever can execute functions.

`jobs` says what there is to do, `work` does one job in a process of its own, `kinds` knows how, `executors` opens what
the jobs are given to, `campaign` collects what comes back, and `folder` keeps it.
"""
