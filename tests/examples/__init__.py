"""Programs after the published samples of the C API, in the API of this package."""
