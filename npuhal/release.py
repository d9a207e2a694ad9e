"""The version of the distribution, which is that of its four packages; pyproject.toml reads it here."""

__version__ = "0.1.0"
