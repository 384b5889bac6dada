"""A number with its confidence interval, or the reason why there is none."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval; what is missing is None, and `reason` says why.

    Attributes:
        value: The point estimate.
        low: Lower end of the confidence interval.
        high: Upper end.
        p: Two-sided p-value that belongs to the interval, uncorrected.
        n: Units the value rests on.
        n_missing: Units without a value.
        basis: Where the interval comes from, e.g. `clusters` or `normal`.
        reason: Why the value, or else its interval, is missing.

    Examples:
        >>> Estimate(0.4, 0.1, 0.7).has_interval
        True
        >>> Estimate(reason="no unit has a value").value is None
        True
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    n: int | None = None
    n_missing: int | None = None
    basis: str | None = None
    reason: str | None = None

    @property
    def has_interval(self) -> bool:
        """Whether there is a value with both ends of its interval."""
        return self.value is not None and self.low is not None and self.high is not None

    def as_dict(self, digits: int | None = None) -> dict[str, float | int | str]:
        """The fields that are not None, as a card or a JSON file writes them.

        Args:
            digits: Decimals that value, ends and p are rounded to; all of them if None.

        Examples:
            >>> Estimate(0.51234, 0.4, 0.6, n=120).as_dict(digits=3)
            {'value': 0.512, 'low': 0.4, 'high': 0.6, 'n': 120}
        """
        fields = {name: field for name, field in asdict(self).items() if field is not None}
        if digits is None:
            return fields
        return {
            name: round(field, digits) if isinstance(field, float) else field
            for name, field in fields.items()
        }
