"""Whether the variants are killed takes minutes, in `make acceptance`; that each of them still varies what is there takes none."""

from types import SimpleNamespace

import pytest

from incremental_assets.core.captures.database import clock_steps
from tests.model.mutants import MUTANTS, Mutant
from tests.model.mutants.variant import instead, without_the_thought


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_known_bad_variant_still_finds_what_it_changes(mutant: Mutant) -> None:
    with mutant.variant():
        pass


def test_a_variant_of_words_or_of_a_name_that_are_gone_is_refused() -> None:
    words = without_the_thought(clock_steps, "_fallen", ("words that are not there", ""))
    with pytest.raises(AssertionError, match="_fallen no longer says 'words that are not there'"), words():
        pass
    with pytest.raises(AttributeError, match="no_such_name"), instead(SimpleNamespace(), "no_such_name", None)():
        pass
