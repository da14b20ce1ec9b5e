"""The algorithm of ``docs/reference/routes.md`` once more, in plain Python: what anybody would write who reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

_MASK = (1 << 64) - 1
_PRIMES = (
    0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5,
)  # fmt: skip


def assign(fields: Sequence[bytes | None], salt: str, arms: Mapping[str, int]) -> str:
    """Returns the arm of a key whose fields are given as their canonical bytes, None for null."""
    key = key_hash(fields, salt)
    best, best_score = "", -1.0
    for arm in sorted((arm for arm in arms if arms[arm] > 0), key=lambda name: name.encode()):
        draw = mixed(key ^ xxh64(arm.encode(), 0)) >> 12
        score = arms[arm] / -math.log((draw + 0.5) / 2**52)
        if score > best_score:
            best, best_score = arm, score
    return best


def key_hash(fields: Sequence[bytes | None], salt: str) -> int:
    """Returns the hash of a key."""
    return xxh64(key_bytes(fields), xxh64(salt.encode(), 0))


def key_bytes(fields: Sequence[bytes | None]) -> bytes:
    """Returns the bytes that are hashed for a key."""
    return b"".join(
        b"\xff\xff\xff\xff" if field is None else len(field).to_bytes(4, "little") + field for field in fields
    )


def mixed(value: int) -> int:
    """The finalizer of SplitMix64."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def xxh64(data: bytes, seed: int) -> int:
    """XXH64, as https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md describes it."""
    one, two, three, four, five = _PRIMES
    rest = data
    if len(data) >= 32:
        lanes = [seed + one + two, seed + two, seed, seed - one]
        while len(rest) >= 32:
            lanes = [_round(lane, _word(rest, at * 8, 8)) for at, lane in enumerate(lanes)]
            rest = rest[32:]
        found = sum(_left(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            found = ((found ^ _round(0, lane)) * one + four) & _MASK
    else:
        found = (seed + five) & _MASK
    found = (found + len(data)) & _MASK
    while len(rest) >= 8:
        found = (_left(found ^ _round(0, _word(rest, 0, 8)), 27) * one + four) & _MASK
        rest = rest[8:]
    if len(rest) >= 4:
        found = (_left(found ^ (_word(rest, 0, 4) * one & _MASK), 23) * two + three) & _MASK
        rest = rest[4:]
    for byte in rest:
        found = _left(found ^ (byte * five & _MASK), 11) * one & _MASK
    found = (found ^ (found >> 33)) * two & _MASK
    found = (found ^ (found >> 29)) * three & _MASK
    return found ^ (found >> 32)


def _round(lane: int, word: int) -> int:
    return _left((lane + word * _PRIMES[1]) & _MASK, 31) * _PRIMES[0] & _MASK


def _word(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _left(value: int, by: int) -> int:
    value &= _MASK
    return (value << by | value >> (64 - by)) & _MASK
