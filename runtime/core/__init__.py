"""The runtime core: process, devices, contexts, streams, task slots, submission, completion, events."""
