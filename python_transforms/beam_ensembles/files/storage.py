"""Beam's file systems, ready to be asked in any process."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from apache_beam.io.filesystems import FileSystems


def file_systems() -> type[FileSystems]:
    """Returns Beam's FileSystems.

    Without options Beam 2.77 cannot make the file system of ``s3://``, and sets them only where a pipeline is made or
    a worker starts: not in a service, nor in a command or a process of a node.
    """
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.options.value_provider import RuntimeValueProvider

    if FileSystems._pipeline_options is None and RuntimeValueProvider.runtime_options is None:
        FileSystems.set_options(PipelineOptions(flags=[]))
    return FileSystems


def open_stored(place: str) -> BinaryIO:
    """Opens a file, whose bytes are read as they are.

    By default Beam unpacks a file whose name ends with ``.gz`` or ``.bz2``: 16 MiB of it at once, whatever they become.
    """
    from apache_beam.io.filesystem import CompressionTypes

    found: BinaryIO = file_systems().open(place, compression_type=CompressionTypes.UNCOMPRESSED)
    return found
