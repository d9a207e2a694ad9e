"""Recording: what a capture or a builder keeps of each task, and the events and branches that order them."""
