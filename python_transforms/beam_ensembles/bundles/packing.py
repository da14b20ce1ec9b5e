"""An ensemble file, all that it names and its user's code to one bundle."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Final

from beam_ensembles import __version__
from beam_ensembles.bundles.collecting import CollectingFiles, sources_of
from beam_ensembles.bundles.file_names import digest_in, is_bundle, name_of
from beam_ensembles.bundles.manifest import FILES, Manifest, PackedFile
from beam_ensembles.bundles.member_names import Members, add_sources
from beam_ensembles.bundles.needed_code import lacking_code
from beam_ensembles.bundles.packing_code import code_added, read_requirements
from beam_ensembles.bundles.writing import write_bundle
from beam_ensembles.errors import EnsembleError
from beam_ensembles.files.ensemble_files import Bundle, Files
from beam_ensembles.files.lock_names import golden_of, lock_of
from beam_ensembles.files.temporary import part_file
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.graph.kinds import Kinds
from beam_ensembles.spec.load import read_text

_NOTHING_YET: Final = "0" * 64


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """What to pack.

    Attributes:
        file: The ensemble file.
        files: What it may use, for whoever packs it.
        parameters: Values of ``${name}``.
        code: Package folders, modules and wheels of the user.
        requirements: A requirements file of what else that code needs, or None.
        output: A folder, or the name of the bundle's file.
        leave_remote: Whether files in storage and on the web stay there.
    """

    file: str
    files: Files
    parameters: Mapping[str, str] = dataclasses.field(default_factory=dict)
    code: Sequence[str] = ()
    requirements: str | None = None
    output: str = "."
    leave_remote: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Packed:
    """A bundle that was written.

    Attributes:
        path: Its file.
        digest: The file's SHA-256.
        size: The file's bytes.
        manifest: What it says of itself.
        left: The nodes whose models or data stay where they are, with their URIs.
        warnings: What the bundle seems to lack.
    """

    path: str
    digest: str
    size: int
    manifest: Manifest
    left: Mapping[str, str]
    warnings: tuple[str, ...] = ()


Show = Callable[[str, int, int | None], None]
"""Is told what is being done, how many bytes of it are, and of how many where that is known."""


def pack(packing: Packing, kinds: Kinds, show: Show = lambda *_: None) -> Packed:
    """Packs an ensemble.

    Args:
        packing: What to pack.
        kinds: The table of all kinds.
        show: Is told how far it is.

    Raises:
        InvalidEnsemble: The ensemble is wrong, as it is or with nothing but what is packed.
        EnsembleError: Something cannot be packed.
        OSError: A file cannot be read or written.
    """
    show("checking the ensemble", 0, None)
    text, base = read_text(packing.file), os.path.dirname(os.path.abspath(packing.file))
    files = CollectingFiles(
        **{field.name: getattr(packing.files, field.name) for field in dataclasses.fields(Files)}
    )
    graph = check_text(text, kinds, files, parameters=packing.parameters)
    members = Members()
    name = f"{FILES}/{os.path.basename(packing.file)}"
    members.add(name, os.path.abspath(packing.file))
    for beside in (lock := lock_of(packing.file), golden_of(lock)):
        if os.path.isfile(beside):
            members.add(f"{FILES}/{os.path.basename(beside)}", os.path.abspath(beside))
    show("fetching", 0, None)
    with (
        sources_of(graph, files, leave_remote=packing.leave_remote) as sources,
        code_added(members, packing.code) as (code, wheels),
    ):
        places = add_sources(members, sources, base)
        _check_alone(text, kinds, packing, members.paths(), places)
        manifest = functools.partial(
            Manifest,
            ensemble=graph.spec.name,
            file=name,
            places=places,
            parameters={**graph.spec.defaults, **packing.parameters},
            code=code,
            wheels=wheels,
            requirements=read_requirements(packing.requirements) if packing.requirements else (),
            packed_with=_versions(),
        )
        show("looking for the code that models need", 0, None)
        warnings = lacking_code(files.named, members.paths(), code, base)
        packed = _written(
            packing, members.paths(), lambda packed: manifest(files=packed), _left(graph, places), show
        )
        return dataclasses.replace(packed, warnings=warnings)


def _check_alone(
    text: str, kinds: Kinds, packing: Packing, members: Mapping[str, str], places: Mapping[str, str]
) -> None:
    """Checks the ensemble as it will stand in the bundle: with links to the files in their places, and no others.

    Raises:
        InvalidEnsemble: It needs more than is packed, or a model that was fetched is not what the file says.
    """
    with tempfile.TemporaryDirectory(prefix="beam-ensembles-") as root:
        for name, path in members.items():
            link = os.path.join(root, name)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(os.path.abspath(path), link)
        bundle = Bundle("the bundle", _NOTHING_YET, 0, "", root, places, is_trusted=True)
        alone = dataclasses.replace(packing.files, base_uri=root, trusted=(os.sep,), bundle=bundle)
        check_text(text, kinds, alone, parameters=packing.parameters)


def _left(graph: EnsembleGraph, places: Mapping[str, str]) -> dict[str, str]:
    named = {node.spec.name: node.spec.options.get("uri") for node in graph.nodes}
    return {node: uri for node, uri in named.items() if isinstance(uri, str) and uri not in places}


def _written(
    packing: Packing,
    members: Mapping[str, str],
    manifest_of: Callable[[Mapping[str, PackedFile]], Manifest],
    left: Mapping[str, str],
    show: Show,
) -> Packed:
    is_file = is_bundle(packing.output) and not os.path.isdir(packing.output)
    folder = os.path.dirname(os.path.abspath(packing.output)) if is_file else packing.output
    total, done = sum(map(os.path.getsize, members.values())), 0

    def wrote(size: int) -> None:
        nonlocal done
        done += size
        show("packing", done, total)

    with _temporary(folder) as path:
        digest, manifest = write_bundle(path, members, manifest_of, wrote)
        size = os.path.getsize(path)
        target = (
            packing.output
            if is_file
            else os.path.normpath(os.path.join(folder, name_of(manifest.ensemble, digest)))
        )
        _check_name(target, digest)
        os.replace(path, target)
    return Packed(target, digest, size, manifest, left)


def _check_name(target: str, digest: str) -> None:
    named = digest_in(target)
    if named is not None and not digest.startswith(named):
        raise EnsembleError(
            f"'{os.path.basename(target)}' names SHA-256 {named}, but that of the bundle is {digest[:12]}; "
            "give a folder, or a name without a digest"
        )


@contextlib.contextmanager
def _temporary(folder: str) -> Iterator[str]:
    """Returns the path of a file that is to be moved to its place; one that is still there is removed."""
    with contextlib.ExitStack() as ends:
        try:
            path, descriptor = ends.enter_context(part_file(folder, "packing"))
        except OSError as exc:
            raise EnsembleError(f"the folder '{folder}' cannot be written to: {exc.strerror}") from exc
        os.close(descriptor)
        yield path


def _versions() -> dict[str, str]:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"apache-beam": version("apache-beam"), "beam-ensembles": __version__, "python": python}
