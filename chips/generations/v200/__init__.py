"""STARS v2 of Ascend 950 and Ascend 350, and the overlay arch9201 of CHIP_CLOUD_V5; `plugin` puts it together."""
