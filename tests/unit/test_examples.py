"""The soak draws its own number of examples, unless a test asks for more."""

from __future__ import annotations

from hypothesis import settings

from tests.tools.examples import examples


def test_the_soak_draws_more_examples() -> None:
    before = settings.default
    try:
        settings.load_profile("npuhal")
        assert examples(12) == 12
        settings.load_profile("soak")
        soak = settings.default
        assert soak is not None
        assert (examples(12), examples(soak.max_examples + 1)) == (soak.max_examples, soak.max_examples + 1)
    finally:
        settings.load_profile("soak" if before == settings.get_profile("soak") else "npuhal")
