"""What a fake's URL says: options, scenarios, rules of faults."""
