"""The runtime core: one package per concern; what each may touch is said in its own docstring.

The packages see each other's objects, and only `submission` writes a ring. Nothing here knows launches, features or
the API.
"""
