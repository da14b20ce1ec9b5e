"""Weights of members that lose least: on the simplex, by log loss of probabilities or squared error of numbers."""

from __future__ import annotations

import numpy as np

from beam_ensembles.errors import EnsembleError

_LEAST = 1e-15
_DIGITS = 4


def log_losses(shares: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the log loss of each row, ``[N]``.

    Args:
        shares: What each member gives the true class, ``[N, members]``.
        weights: They add up to 1.
    """
    return np.asarray(-np.log(np.maximum(shares @ weights, _LEAST)))


def squared_errors(values: np.ndarray, true: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the squared error of each row, ``[N]``.

    Args:
        values: What each member answers, ``[N, members]``.
        true: The numbers, ``[N]``.
        weights: They add up to 1.
    """
    return np.asarray((values @ weights - true) ** 2)


def least_log_loss(shares: np.ndarray) -> np.ndarray:
    """Returns the weights of the least mean log loss, ``[members]``; ``shares`` as in ``log_losses``."""

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        mixed = np.maximum(shares @ weights, _LEAST)
        return float(-np.log(mixed).mean()), -(shares / mixed[:, None]).mean(axis=0)

    return _least(loss, shares.shape[1])


def least_squares(values: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Returns the weights of the least mean squared error, ``[members]``; arguments as in ``squared_errors``."""
    scale = float(np.abs(true).max()) or 1.0
    values, true = values / scale, true / scale

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        off = values @ weights - true
        return float((off**2).mean()), 2 * (values * off[:, None]).mean(axis=0)

    return _least(loss, values.shape[1])


def _least(loss: object, members: int) -> np.ndarray:
    """Returns where a convex function of weights is least, from equal weights on."""
    from scipy.optimize import minimize

    found = minimize(
        loss,
        np.full(members, 1 / members),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * members,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-12, "maxiter": 1_000},
    )
    if not np.isfinite(found.fun) or (not found.success and found.status != 8):  # 8: no step makes it less
        raise EnsembleError(f"no weights were found: {found.message}")
    return rounded(np.clip(found.x, 0, 1))


def rounded(weights: np.ndarray) -> np.ndarray:
    """Returns weights with four digits that add up to 1."""
    found = np.round(weights / weights.sum(), _DIGITS)
    found[np.argmax(found)] += 1 - found.sum()
    return np.asarray(np.round(found, _DIGITS))
