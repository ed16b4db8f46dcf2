"""Percentiles, ratios and the table that every benchmark prints."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: what was measured, the value, the floor or peer of the same run, and the bound that we go for.

    `bound` is a limit on value / floor where there is a floor, else on the value itself; `at_least` turns it round.
    """

    name: str
    value: float
    unit: str
    bound: float
    floor: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def measured(self) -> float:
        """What the bound is held against: the ratio to the floor, or the value."""
        return self.value / self.floor if self.floor is not None else self.value

    @property
    def holds(self) -> bool:
        """Whether the bound is kept."""
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which `share` (0 to 1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(values: Sequence[float]) -> float:
    """The middle value."""
    return statistics.median(values)


def table(figures: Iterable[Figure]) -> str:
    """The figures as lines of text, one a row."""
    lines = [f"{'figure':<58} {'value':>12} {'floor':>10} {'ratio':>7}  bound"]
    for figure in figures:
        floor = "" if figure.floor is None else f"{figure.floor:.4g}"
        ratio = "" if figure.floor is None else f"{figure.measured:.2f}x"
        sign = ">=" if figure.at_least else "<="
        unit = "x" if figure.floor is not None else f" {figure.unit}"
        verdict = "ok" if figure.holds else "MISSED"
        value = f"{figure.value:.4g} {figure.unit}"
        bound = f"{sign} {figure.bound:g}{unit}"
        lines.append(
            f"{figure.name:<58} {value:>12} {floor:>10} {ratio:>7}  {bound:<12} {verdict} {figure.note}".rstrip()
        )
    return "\n".join(lines)
