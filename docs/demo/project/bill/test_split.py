"""What a fair split must do."""

from .split import split


def test_an_even_bill_is_split_evenly() -> None:
    """Where the bill can be divided, everybody pays the same."""
    assert split(900, 3) == [300, 300, 300]


def test_one_person_pays_the_whole_bill() -> None:
    """A split among one is no split."""
    assert split(1999, 1) == [1999]


def test_every_cent_is_paid() -> None:
    """The shares add up to the bill: nobody is left owing a cent."""
    assert sum(split(1000, 3)) == 1000
