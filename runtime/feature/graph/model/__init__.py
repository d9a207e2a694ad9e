"""Models: streams whose tasks are kept and executed together; the scheduler's view of them."""
