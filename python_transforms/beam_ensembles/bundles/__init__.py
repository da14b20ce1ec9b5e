"""Bundles: an ensemble file, the files that it names and its user's code in one file, known by its digest.

Reading: ``manifest``, ``archive`` (a zip from a stranger), ``store`` (where it is unpacked), ``opening`` (to what the
checks need), ``at_hand`` (found again on a worker), ``user_code``. Writing: ``packing`` and what it calls.
"""
