"""Whole minor units as exact decimals of the currency."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

# The digits of minor units in ISO 4217, list one, as of 2026; the other currencies have two.
DIGITS = {
    **dict.fromkeys(
        (
            "BIF",
            "CLP",
            "DJF",
            "GNF",
            "ISK",
            "JPY",
            "KMF",
            "KRW",
            "PYG",
            "RWF",
            "UGX",
            "VND",
            "VUV",
            "XAF",
            "XOF",
            "XPF",
        ),
        0,
    ),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
}
USUAL_DIGITS = 2
# One column holds amounts of all currencies: the most digits of any, and a whole bigint of a currency without any.
MONEY = pa.decimal128(22, 3)
FACTOR = pa.decimal128(4, 3)
MINOR = pa.decimal128(19, 0)


def amount(minor: int, currency: str) -> Decimal:
    """An amount in units of its currency: 1234 of SAR is 12.340."""
    return (Decimal(minor).scaleb(-DIGITS.get(currency, USUAL_DIGITS))).quantize(Decimal("0.001"))


def amounts(minor: Any, currencies: Any) -> Any:
    """Two Arrow arrays, int64 and text, as one of MONEY; null where either is null."""
    named = currencies.dictionary_encode()
    factors = pa.array([amount(1, currency) for currency in named.dictionary.to_pylist()], FACTOR)
    return pc.multiply(minor.cast(MINOR), factors.take(named.indices)).cast(MONEY)
