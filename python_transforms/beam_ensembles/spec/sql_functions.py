"""The functions that an expression may call, and why it may not call the others that people look for."""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final[dict[str, str]] = {
    # conditions and types
    "cast": "`CAST(x AS type)`: the value as another type; a row whose value is none of that type fails",
    "try_cast": "`TRY_CAST(x AS type)`: the same, null instead of failing",
    "coalesce": "the first of the arguments that is not null",
    "ifnull": "`IFNULL(x, y)`: `x`, or `y` where `x` is null",
    "nullif": "`NULLIF(x, y)`: null where both are equal, else `x`",
    "if": "`IF(condition, x, y)`: `x` where the condition holds, else `y`",
    "greatest": "the greatest of the arguments that are not null",
    "least": "the least of the arguments that are not null",
    # numbers
    "abs": "without its sign",
    "sign": "-1, 0 or 1",
    "ceil": "rounded up",
    "ceiling": "rounded up",
    "floor": "rounded down",
    "round": "`ROUND(x)` or `ROUND(x, digits)`",
    "trunc": "digits after the point cut off",
    "truncate": "digits after the point cut off",
    "div": "`DIV(x, y)`: whole division, as `x // y`",
    "mod": "`MOD(x, y)`: what is left of a division, as `x % y`",
    "pow": "`POW(x, y)`: `x` to the power of `y`; of whole numbers a `double`",
    "power": "`POWER(x, y)`: `x` to the power of `y`; of whole numbers a `double`",
    "sqrt": "square root",
    "cbrt": "cube root",
    "exp": "e to the power of `x`",
    "ln": "natural logarithm",
    "log1p": "natural logarithm of 1 + `x`",
    "log2": "logarithm to base 2",
    "log10": "logarithm to base 10",
    "erf": "error function",
    "pi": "`PI()`: 3.14159...",
    "degrees": "radians to degrees",
    "radians": "degrees to radians",
    "sin": "sine",
    "cos": "cosine",
    "tan": "tangent",
    "cot": "cotangent",
    "asin": "inverse sine",
    "acos": "inverse cosine",
    "atan": "inverse tangent",
    "atan2": "`ATAN2(y, x)`: the angle of a point",
    "bit_count": "how many bits are set",
    # text
    "length": "how many characters a text has",
    "char_length": "how many characters a text has",
    "character_length": "how many characters a text has",
    "octet_length": "how many bytes a text has",
    "upper": "in upper case",
    "lower": "in lower case",
    "initcap": "every word with a capital",
    "trim": "without spaces at both ends; `TRIM(BOTH 'xy' FROM text)`: without these characters",
    "ltrim": "without spaces, or the characters of `LTRIM(text, 'xy')`, at the start",
    "rtrim": "the same at the end",
    "lpad": "`LPAD(text, length, filler)`: filled up at the start, to 65535 characters at most",
    "rpad": "`RPAD(text, length, filler)`: filled up at the end, to 65535 at most",
    "left": "`LEFT(text, n)`: the first characters",
    "right": "`RIGHT(text, n)`: the last characters",
    "substr": "`SUBSTR(text, start, length)`: a part, counted from 1; places before 1 hold no characters",
    "substring": "`SUBSTRING(text, start, length)`: the same",
    "reverse": "the characters backwards",
    "replace": "`REPLACE(text, old, new)`: every `old` replaced; both are constants",
    "concat": "the arguments as one text; nulls are left out",
    "concat_ws": "`CONCAT_WS(separator, a, b)`: the same with a separator",
    "starts_with": "`STARTS_WITH(text, start)`",
    "ends_with": "`ENDS_WITH(text, end)`",
    "split_part": "`SPLIT_PART(text, separator, n)`: the n-th part, counted from 1; empty where there is none",
    "string_to_array": "`STRING_TO_ARRAY(text, separator)`: the parts as a list",
    "normalize": "in Unicode's normal form C",
    "regexp_like": "`REGEXP_LIKE(text, pattern)`: whether a regular expression is found, as `text ~ pattern`",
    "regexp_replace": "`REGEXP_REPLACE(text, pattern, new)`: the first match replaced",
    # points in time
    "extract": "`EXTRACT(hour FROM t)`: a part of a timestamp (UTC)",
    "date_part": "`DATE_PART('hour', t)`: a part of a timestamp (UTC)",
    "year": "the year",
    "quarter": "the quarter, 1 to 4",
    "month": "the month, 1 to 12",
    "week": "the ISO week, 1 to 53",
    "day": "the day of the month",
    "dayofmonth": "the day of the month",
    "dayofweek": "the day of the week, 0 is Sunday",
    "dayofyear": "the day of the year",
    "hour": "the hour",
    "minute": "the minute",
    "second": "the second",
    "strftime": "`STRFTIME(t, '%Y-%m-%d')`: as text",
    "strptime": "`STRPTIME(text, '%Y-%m-%d')`: a timestamp of a text; a row whose text is none fails",
    "timestamp": "`TIMESTAMP(text, '%Y-%m-%d')`: the same as `STRPTIME`",
    # lists and tensors
    "array_get": "`ARRAY_GET(list, n)`: the n-th item, counted from 1, as `list[n]`; null where there is none",
    "array_length": "how many items",
    "array_contains": "`ARRAY_CONTAINS(list, item)`: whether an item is in a list, as `item = ANY(list)`",
    "array_sum": "the items' sum; of whole numbers an `int64`",
    "array_mean": "the items' average",
    "array_lower": "the least item",
    "array_upper": "the greatest item",
    "array_reverse": "the items backwards",
    "array_unique": "every item once, in order",
    "array_to_string": "`ARRAY_TO_STRING(list, separator)`: the items as one text",
}
"""What each function gives, by its name in lower case. All of them look at one row at a time."""

AMBIGUOUS: Final[dict[str, str]] = {
    "log": "its base stands first in some databases and last in others: write LN(x), LOG2(x), LOG10(x) or "
    "LN(x) / LN(base)",
}
"""Functions that databases compute differently, and what to write instead."""

NOT_ROWWISE: Final = frozenset(
    (
        # aggregates
        "approx_count_distinct", "approx_quantile", "array_agg", "avg", "bit_and", "bit_or", "bit_xor", "bool_and",
        "bool_or", "corr", "count", "covar", "covar_pop", "covar_samp", "first", "group_concat", "last", "listagg",
        "max", "mean", "median", "min", "mode", "quantile_cont", "quantile_disc", "stddev", "stddev_pop",
        "stddev_samp", "stdev", "stdev_samp", "string_agg", "sum", "var", "var_pop", "var_samp", "variance",
        # windows
        "cume_dist", "dense_rank", "first_value", "lag", "last_value", "lead", "nth_value", "ntile", "percent_rank",
        "rank", "row_number",
        # more or fewer rows
        "columns", "explode", "generate_series", "unnest",
        # clocks and chance
        "current_date", "current_time", "current_timestamp", "gen_random_uuid", "getdate", "localtime",
        "localtimestamp", "now", "rand", "random", "today", "uuid",
    )
)  # fmt: skip
"""Functions whose answer for a row depends on other rows, on the time or on chance."""

CLOCKS: Final = frozenset(
    ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")
)
"""Words that read the clock without being called."""
