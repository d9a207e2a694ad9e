"""Replay of recorded API scenarios: `python -m tests.tools.behaviour FILE.jsonl... [--url URL]`."""
