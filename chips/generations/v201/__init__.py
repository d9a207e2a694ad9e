"""STARS v2 of MC62CM12A and MC32DM11A: v200 with other copies, data queues and serial models; `plugin` joins it."""
