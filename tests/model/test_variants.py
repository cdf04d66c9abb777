"""Whether the variants are killed takes minutes, in `make acceptance`; that each of them still varies what is there takes none."""

import pytest

from tests.model.mutants import MUTANTS, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_known_bad_variant_still_finds_what_it_changes(mutant: Mutant) -> None:
    with mutant.variant():
        pass
