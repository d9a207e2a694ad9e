"""What the runtime can do beyond streams and launches: one package per feature, on top of core and launch."""
