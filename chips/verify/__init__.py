"""Tools that check the plug-ins: coverage, recorded vectors, chip comparison. Never imported by the runtime's path."""
