"""Who runs next and how long it takes: policies, virtual time, and plans that replay a schedule."""
