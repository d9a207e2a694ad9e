"""The runtime's only way to a HAL: boot queries, queues, ids and memory, with codes mapped and waits bounded."""
