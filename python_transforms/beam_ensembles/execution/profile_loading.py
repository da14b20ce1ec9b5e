"""A profile on a worker: as it was read when the pipeline was made, or fetched from where it lies."""

from __future__ import annotations

import dataclasses

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.files.fetched_files import fetched
from beam_ensembles.files.own_network import refuse_own_network
from beam_ensembles.graph.profile import Profile
from beam_ensembles.graph.profile_check import CheckedProfile, read_checked
from beam_ensembles.limits import LARGEST_PROFILE


def load_profile(checked: CheckedProfile) -> Profile:
    """Returns what a profile says.

    Raises:
        InvalidEnsemble: It is not the pinned one, is not a profile, or is about other inputs.
        EnsembleError: It cannot be fetched.
    """
    if checked.content is not None:
        return checked.content
    refuse_own_network(checked.files, checked.place)
    found: list[Problem] = []
    with fetched(checked.place, most=LARGEST_PROFILE) as copy:
        read = read_checked(dataclasses.replace(checked, place=copy), checked.place, found.append)
    if read.content is None:
        raise InvalidEnsemble(found)
    return read.content
