"""Who pays how much of a bill, in whole cents: money is never a float."""


def split(total_cents: int, people: int) -> list[int]:
    """What each person pays, in cents."""
    return [total_cents // people] * people
