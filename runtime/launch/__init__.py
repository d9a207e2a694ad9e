"""Programs, kernels, arguments, launches and copies."""
