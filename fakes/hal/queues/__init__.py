"""HAL chapter "queues": queue pairs, the hot path, and what else is said to the task scheduler."""
