"""Seeing what happened: the beats of a launch with their times."""
