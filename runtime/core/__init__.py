"""The runtime core: one room per concern; what each may touch is said in its own docstring.

Rooms see each other's objects, and only `submission` writes a ring. Nothing here knows launches, features or the API.
"""
