"""HAL chapter "message_queue": queues on a card for messages by copy, and queues of the host for message buffers."""
