"""HAL chapter "memory": what is allocated, copied and registered."""
