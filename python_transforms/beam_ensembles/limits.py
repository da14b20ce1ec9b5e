"""Every limit on the quantities of an ensemble file, and of what is read of model files, in one place.

Each limit of an ensemble file is about a hundred times what a large file needs, and cannot be changed: split a larger
file into several ensembles. A file beyond a limit is refused with the code in parentheses.
"""

from __future__ import annotations

from typing import Final

# A file's text
LONGEST_FILE: Final = 1_000_000
"""Characters of a file (``too_large``)."""
DEEPEST_FILE: Final = 64
"""How deep lists and mappings may be nested (``syntax``)."""
LONGEST_KEY: Final = 10_000
"""Characters of a key of a mapping (``too_large``)."""
MOST_IN_PLACES: Final = 50_000_000
"""Characters of the places (``nodes.vote.inputs[1]``) of all values: long keys times many values (``too_large``)."""
MOST_NODES: Final = 10_000
"""Nodes of a file (``too_large``)."""
MOST_STAGES: Final = 250
"""Stages of an ensemble, each of which is several steps of the pipeline (``too_large``)."""
LONGEST_NAME: Final = 250
"""Characters of the name of an ensemble, a node or a column, or of a model's port (``bad_name``)."""

# Parameters
MOST_PARAMETERS: Final = 1_000
"""Parameters that a call may give (``too_large``)."""
LONGEST_PARAMETER: Final = 100_000
"""Characters of one value (``too_large``)."""
LONGEST_FILLED: Final = 1_000_000
"""Characters of all texts of a file with parameters, once they are filled in (``too_large``)."""

# Expressions
LONGEST_EXPRESSION: Final = 8_192
"""Characters of an expression (``bad_expression``)."""
MOST_OPERATORS: Final = 250
"""Operators of an expression (``bad_expression``): polars goes through them by recursion, and a stack has an end."""
MOST_IN_EXPRESSIONS: Final = 200_000
"""Characters of all expressions of a file (``too_large``)."""
MOST_IN_PATTERNS: Final = 1_000_000
"""Characters that the regular expressions of a file stand for, repetitions counted (``bad_expression``)."""
LONGEST_MADE: Final = 10_000_000
"""Characters that an expression may make of its constants alone (``bad_expression``)."""

# Types and numbers
LONGEST_TYPE: Final = 100_000
"""Characters of a type's text (``bad_type``)."""
DEEPEST_TYPE: Final = 32
"""How deep types may be nested (``bad_type``)."""
MOST_DIMENSIONS: Final = 32
"""Dimensions of a tensor (``bad_type``)."""
LARGEST_TENSOR: Final = 1 << 27
"""Numbers of one row's tensor (``bad_type``)."""
MOST_FIELDS: Final = 200_000
"""Fields within the rows that nodes and their expressions read and add, counted each time (``too_large``)."""
LARGEST_COUNT: Final = 1_000_000
"""The largest ``samples``, ``k``, ``batch.min`` and so on (``bad_value``)."""
MOST_COPIES: Final = 256
"""Copies of a model on one worker (``bad_value``)."""
MOST_RETRIES: Final = 100
"""The largest ``retries`` (``bad_value``)."""
LONGEST_WAIT: Final = 86_400
"""Seconds of a ``timeout`` or of ``batch.max_wait`` (``bad_value``)."""

# Model files
LARGEST_JSON: Final = 64 << 20
"""Bytes of a JSON document that is read of a model file (``bad_model_file``): about 4,000 trees of scikit-learn."""
MOST_JSON_MEMORY: Final = 512 << 20
"""Bytes that its values may take in memory (``bad_model_file``)."""
MOST_ARRAY_VALUES: Final = 1_000_000
"""Values of an array that is read of a model file before it is loaded, such as its classes; longer ones are not."""

# Profiles of inputs
LARGEST_PROFILE: Final = 8 << 20
"""Bytes of a profile (``bad_profile``)."""
MOST_CATEGORIES: Final = 200
"""Different texts of a column that a profile knows (``bad_profile``); a column with more is free text."""

# Models on other machines
LARGEST_ANSWER: Final = 256 << 20
"""Bytes of a server's answer, unpacked; where it has more, fewer rows are sent at a time (``model_error``)."""

# Files of rows
MOST_ROW_FIELDS: Final = 10_000
"""Fields that all rows of a file of JSON lines have together, where it is written as another format (``bad_file``)."""

MOST_SPARSE_CELLS: Final = 1 << 28
"""Cells that the rows of a file of JSON lines may have as another format (``bad_file``)."""
CELLS_PER_BYTE: Final = 16
"""Cells for each byte of a file of JSON lines, where that allows more."""
LONGEST_FIELD_NAME: Final = 1_000
"""Characters of a field's name in a file of rows (``bad_file``): JSON lines repeat it in each row."""

# Sounds of rows
MOST_SAMPLES: Final = 1 << 28
"""Samples of one decoded sound, and of the sounds of a batch whose rows keep them (``wrong_value``): 1 GiB."""
SAMPLES_AT_ONCE: Final = 1 << 26
"""Samples of the sounds that are decoded at once; where there are more, fewer rows are taken at a time."""

MADE_AT_ONCE: Final = 4 * SAMPLES_AT_ONCE
"""Bytes that a node may make at once of the rows of a batch; where it would make more, the nodes take it in parts."""

# Answers
MOST_DRAWN: Final = 1_500
"""Figures, and lines, of an SVG."""
MOST_PROBLEMS: Final = 1_000
"""Problems that are kept of a file; the first ones in its order count."""
MOST_SHOWN: Final = 100
"""Problems that the text of an error shows."""
LONGEST_MESSAGE: Final = 2_000
"""Characters of a problem's message."""
LONGEST_FOREIGN: Final = 400
"""Characters that are quoted of another library's exception."""
LONGEST_PLACE: Final = 4_000
"""Characters of a problem's place."""
MOST_COMPARED: Final = 2_000_000
"""Pairs of characters that are compared to find what the misspelt words of a file mean: about a second."""
