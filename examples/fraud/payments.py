"""Generates accounts and their payments, some of which are fraud: the same every time, and invented.

Who pays has habits, and so have those who pay with what is not theirs. None of them can be told by one column: people
travel, buy a sofa, or play at night.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import sqlalchemy as sa

COUNTRIES = ("de", "fr", "es", "pl", "us")
EVERYDAY = ("grocery", "restaurant", "fuel", "clothes", "games", "electronics")
UNKNOWN_EVERY = 30
"""One account in so many is too new to be in the database."""


class Habit(NamedTuple):
    """How somebody pays.

    Attributes:
        share: Of all payments.
        fraud: Whether it is not the account's owner who pays.
        times: The logarithm of how many times the account's typical amount is paid: mean and standard deviation.
        night: The share that is paid at night.
        online: The share that is paid online.
        abroad: The share that is paid in another country than the account's.
        categories: The categories of purchases.
    """

    share: float
    fraud: bool
    times: tuple[float, float]
    night: float
    online: float
    abroad: float
    categories: tuple[str, ...]


HABITS = (
    Habit(0.77, False, (0.0, 0.5), night=0.04, online=0.30, abroad=0.02, categories=EVERYDAY),
    Habit(0.07, False, (0.6, 0.6), night=0.10, online=0.15, abroad=0.95, categories=("travel", "restaurant", "fuel")),
    Habit(0.06, False, (1.7, 0.5), night=0.03, online=0.50, abroad=0.05, categories=("furniture", "electronics")),
    Habit(0.04, False, (-0.8, 0.7), night=0.60, online=0.95, abroad=0.10, categories=("games", "gift_cards")),
    Habit(0.025, True, (1.3, 0.6), night=0.35, online=0.25, abroad=0.85, categories=("electronics", "fuel")),
    Habit(0.02, True, (1.6, 0.5), night=0.50, online=0.95, abroad=0.10, categories=("electronics", "gift_cards")),
    Habit(0.015, True, (-2.5, 0.5), night=0.40, online=0.98, abroad=0.70, categories=("games", "gift_cards")),
)  # fmt: skip
"""Every day, on a journey, something large, at play; a stolen card, an account taken over, a card tried out."""


def make_accounts(random: np.random.Generator, count: int) -> pd.DataFrame:
    """Creates accounts: ``account``, ``home``, ``typical_amount``, ``age_days``, ``disputes``."""
    return pd.DataFrame(
        {
            "account": [f"account-{at}" for at in range(count)],
            "home": random.choice(COUNTRIES, count, p=(0.4, 0.2, 0.15, 0.15, 0.1)),
            "typical_amount": np.exp(random.normal(3.6, 0.7, count)).round(2),
            "age_days": random.gamma(1.5, 700, count).astype(int),
            "disputes": random.poisson(0.2, count),
        }
    )


def in_database(accounts: pd.DataFrame) -> pd.DataFrame:
    """Returns the accounts that the database knows."""
    return accounts[accounts.index % UNKNOWN_EVERY != 0]


def make_payments(random: np.random.Generator, accounts: pd.DataFrame, count: int) -> pd.DataFrame:
    """Creates payments of all habits, in no order, each with its ``id`` and whether it is ``fraud``, 0 or 1."""
    parts = [_by_habit(random, accounts, habit, round(habit.share * count)) for habit in HABITS]
    mixed = pd.concat(parts).iloc[random.permutation(count)].reset_index(drop=True)
    mixed.insert(0, "id", mixed.index)
    return mixed


def _by_habit(random: np.random.Generator, accounts: pd.DataFrame, habit: Habit, count: int) -> pd.DataFrame:
    payers = accounts.sample(count, replace=True, random_state=random, weights=_ease(accounts, habit))
    night = random.random(count) < habit.night
    return pd.DataFrame(
        {
            "account": payers["account"].to_numpy(),
            "category": random.choice(habit.categories, count),
            "amount": (payers["typical_amount"] * np.exp(random.normal(*habit.times, count))).round(2).to_numpy(),
            "hour": np.where(night, random.integers(0, 6, count), random.integers(7, 24, count)),
            "online": random.random(count) < habit.online,
            "country": _countries(random, payers["home"].to_numpy(), random.random(count) < habit.abroad),
            "fraud": int(habit.fraud),
        }
    )  # fmt: skip


def _ease(accounts: pd.DataFrame, habit: Habit) -> pd.Series | None:
    """Returns how easily accounts fall to fraud: young ones, and those that did before."""
    return np.exp(-accounts["age_days"] / 600) + accounts["disputes"] if habit.fraud else None


def _countries(random: np.random.Generator, homes: np.ndarray, abroad: np.ndarray) -> np.ndarray:
    """Returns each payment its country: the account's own, or another one."""
    at = np.searchsorted(np.sort(COUNTRIES), homes)
    steps = np.where(abroad, random.integers(1, len(COUNTRIES), len(homes)), 0)
    return np.sort(COUNTRIES)[(at + steps) % len(COUNTRIES)]


def write_accounts(accounts: pd.DataFrame, url: str) -> None:
    """Writes accounts to the table ``accounts`` of a database, instead of those that were there.

    Args:
        accounts: The accounts.
        url: The database, as SQLAlchemy writes it.
    """
    table = sa.Table(
        "accounts",
        sa.MetaData(),
        sa.Column("account", sa.String(40), primary_key=True),
        sa.Column("home", sa.String(2), nullable=False),
        sa.Column("typical_amount", sa.Double, nullable=False),
        sa.Column("age_days", sa.Integer, nullable=False),
        sa.Column("disputes", sa.Integer, nullable=False),
    )
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        table.drop(connection, checkfirst=True)
        table.create(connection)
        connection.execute(table.insert(), accounts.to_dict("records"))
    engine.dispose()
