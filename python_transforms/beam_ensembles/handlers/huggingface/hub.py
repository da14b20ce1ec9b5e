"""Where a model of transformers is: a folder, or a name on the Hugging Face hub; and how it may be loaded.

``uri: models/mood`` is a folder as ``save_pretrained`` writes it, on this machine or in storage. ``uri:
hf:org/name`` is a model of the hub, which the service's policy must allow (``--allow-host huggingface.co``); workers
take it from their cache, or download it, unless ``HF_HUB_OFFLINE`` is set there. Code that comes with a model is never
run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import (
    EnsembleError,
    InvalidEnsemble,
    ModelFormatError,
    Problem,
    listed,
)
from beam_ensembles.files.bounded_json import load_json
from beam_ensembles.files.ensemble_files import FileProblem, local_path
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.graph.options import option
from beam_ensembles.handlers.huggingface.folder_checks import READ, reaches_out
from beam_ensembles.handlers.support.beam_config import Accepted
from beam_ensembles.handlers.support.load_failures import reason
from beam_ensembles.handlers.support.member import not_installed
from beam_ensembles.handlers.support.model_file import FileOptions, check_file, check_trust, verified
from beam_ensembles.handlers.support.signatures import (
    refusing,
)

EXTRA: Final = "huggingface"


class HubOptions(FileOptions):
    """Where a folder of transformers is, or which version of a model of the hub is meant."""

    uri: str = option(
        "",
        "The model: a folder as save_pretrained writes it, or hf:NAME for a model of the Hugging Face hub.",
        required=True,
    )
    revision: str | None = option(
        None,
        "Which version of a model of the hub: a commit, which pins it, a tag or a branch.",
        shown="main",
    )


_SCHEME: Final = "hf:"
_NAME: Final = re.compile(r"hf:[\w-][\w.-]*(/[\w-][\w.-]*)?", re.ASCII)
_REVISION: Final = re.compile(r"\w[\w.+@-]*(/\w[\w.+@-]*)*", re.ASCII)
_HUB: Final = "https://huggingface.co"
_DTYPES: Final = ("auto", "bfloat16", "float16", "float32", "float64")
_ATTENTIONS: Final = ("eager", "flash_attention_2", "flash_attention_3", "flex_attention", "sdpa")


def _is_loading(value: Any) -> bool:
    allowed = {"dtype": _DTYPES, "attn_implementation": _ATTENTIONS}
    return isinstance(value, Mapping) and all(
        name in allowed and setting in allowed[name] for name, setting in value.items()
    )


LOADING: Final = Accepted(
    f"a mapping of dtype ({', '.join(_DTYPES)}) and attn_implementation ({', '.join(_ATTENTIONS)})",
    _is_loading,
)
"""What may be said of how a model is loaded; everything else could load other files, or code."""


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """What transformers loads.

    Attributes:
        name: A folder of this machine, or a name on the hub.
        revision: Which version of a model of the hub.
        is_vouched: Whether it is pinned, or lies under a trusted place.
    """

    name: str
    revision: str | None = None
    is_vouched: bool = False

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of this machine."""
        return os.path.isabs(self.name)

    @property
    def arguments(self) -> dict[str, Any]:
        """What every ``from_pretrained`` takes: no code of the model, and nothing but the folder if it is one."""
        found: dict[str, Any] = {"trust_remote_code": False}
        if self.is_folder:
            return {**found, "local_files_only": True}
        return {**found, "revision": self.revision}

    @property
    def needs_safetensors(self) -> bool:
        """Whether only weights in safetensors may be loaded: always, but of a vouched folder that has none."""
        return not self.is_folder or not self.is_vouched or _has_file(self.name, ".safetensors")


@dataclasses.dataclass(frozen=True, slots=True)
class Described:
    """What can be read of a model before it is loaded.

    Attributes:
        config: Its ``config.json``; empty where that cannot be read here.
        folder: Its folder, None where that is not on this machine.
    """

    config: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    folder: str | None = None


def check_place(node: NodeView[HubOptions], *, weights: bool = True) -> Described:
    """Checks where a node's model is.

    Args:
        node: The node.
        weights: Whether its weights are loaded.

    Returns:
        What it is like.
    """
    uri = node.options.uri
    is_name = uri.startswith(_SCHEME)
    if is_name and not node.files.is_packed(uri):
        _check_name(node, uri)
        return Described()
    if not is_name and node.options.revision is not None:
        node.problem("unsupported_option", "revision", "a folder has no revisions; pin it with 'sha256'")
    place = check_file(node, folders=True)
    path = None if place is None else local_path(place)
    return Described() if place is None or path is None else _check_folder(node, place, path, weights)


def _check_name(node: NodeView[HubOptions], uri: str) -> None:
    if _NAME.fullmatch(uri) is None:
        text = f"'{uri}' is not a valid hub name; expected 'hf:org/name'"
        node.problem("bad_value", "uri", text)
    revision = node.options.revision
    if revision is not None and _REVISION.fullmatch(revision) is None:  # it becomes a path in the hub's cache
        text = f"{revision!r} is not a commit, tag or branch: names of letters, digits and '-._+@' between slashes"
        node.problem("bad_value", "revision", text)
    if node.options.sha256 is not None:
        text = "a model of the hub is pinned by the commit: 'revision: <40 hexadecimal digits>'"
        node.problem("unsupported_option", "sha256", text)
    try:
        node.files.check_host(_HUB)
    except FileProblem as problem:
        node.problem(problem.code, "uri", str(problem))


def _check_folder(node: NodeView[HubOptions], place: str, path: str, weights: bool) -> Described:
    if not os.path.isdir(path):
        text = f"'{path}' is a file; name the folder that save_pretrained wrote, with config.json in it"
        node.problem("bad_model_file", "uri", text)
        return Described()
    is_vouched = node.options.sha256 is not None or node.files.is_trusted(place)
    if parts := () if is_vouched else reaches_out(path):
        node.problem("untrusted_file", "uri", _untrusted(place, parts))
        return Described()
    if weights and not _has_file(path, ".safetensors") and _has_file(path, ".bin"):
        check_trust(node, place)
    return Described(read_config(node, path), path)


def _reaching_out(place: str, parts: Sequence[str]) -> str:
    """Returns the start of the message for a model whose configurations say what they may not."""
    return f"'{place}' would load files from elsewhere, or what is not for them ({listed(list(parts))})"


def _untrusted(place: str, parts: Sequence[str]) -> str:
    """Returns the message for a folder that loads files from elsewhere, and how to trust it."""
    return (
        f"{_reaching_out(place, parts)}, but it is neither pinned nor trusted; "
        "pin it with 'sha256: <its digest>' on the node, or trust its folder (start with --trust FOLDER)"
    )


def read_config(node: NodeView[HubOptions], path: str) -> Mapping[str, Any]:
    """Reads a folder's ``config.json``, reporting what is wrong with it."""
    try:
        with refusing("it is damaged"), open(os.path.join(path, "config.json"), "rb") as file:
            found = load_json(file)
    except FileNotFoundError:
        found = None
    except (OSError, ModelFormatError) as exc:
        node.problem("bad_model_file", "uri", f"'{path}': its config.json cannot be read: {exc}")
        return {}
    return found if isinstance(found, Mapping) else {}


def _has_file(folder: str, ending: str) -> bool:
    return any(name.endswith(ending) for name in os.listdir(folder))


@contextlib.contextmanager
def opened(node: CheckedNode[HubOptions]) -> Iterator[Place]:
    """Returns the place of a node's model while it is being loaded; whatever goes wrong then names the node.

    Raises:
        InvalidEnsemble: The folder is not the pinned one, or it cannot be loaded (``load_failed``).
    """
    try:
        with _place(node) as place:
            yield place
    except EnsembleError:
        raise
    except ModelFormatError as exc:
        raise InvalidEnsemble([Problem(node.spec.path("uri"), "bad_model_file", str(exc))]) from exc
    except Exception as exc:  # a model can fail to load in any way
        what = f"cannot load '{node.uri}' as {node.spec.kind} '{node.spec.target}'"
        problem = Problem(node.spec.path("uri"), "load_failed", f"{what}: {reason(exc)}")
        raise InvalidEnsemble([problem]) from exc


@contextlib.contextmanager
def _place(node: CheckedNode[HubOptions]) -> Iterator[Place]:
    uri = str(node.uri)
    if uri.startswith(_SCHEME):
        name = uri.removeprefix(_SCHEME)
        if os.path.exists(name):  # transformers would take that
            text = f"'{os.path.abspath(name)}' lies where the worker runs, and would be loaded instead of '{uri}'"
            raise InvalidEnsemble([Problem(node.spec.path("uri"), "load_failed", text)])
        with _of_the_hub(node, name) as place:
            yield place
        return
    with verified(node, folders=True) as path:
        is_vouched = node.options.sha256 is not None or node.is_trusted
        parts = () if is_vouched or not os.path.isdir(path) else reaches_out(path)
        if parts:
            problem = Problem(node.spec.path("uri"), "untrusted_file", _untrusted(str(node.uri), parts))
            raise InvalidEnsemble([problem])
        with _offline():
            yield Place(os.path.abspath(path), is_vouched=is_vouched)


@contextlib.contextmanager
def _of_the_hub(node: CheckedNode[HubOptions], name: str) -> Iterator[Place]:
    """Looks through the configurations of a model of the hub; yields the commit that they are of.

    Raises:
        InvalidEnsemble: ``untrusted_file``: it would load files from elsewhere.
    """
    hub: Any = importlib.import_module("huggingface_hub")
    with contextlib.ExitStack() as ends:
        try:
            folder = hub.snapshot_download(name, revision=node.options.revision, allow_patterns=list(READ))
        except hub.errors.LocalEntryNotFoundError as exc:
            folder = getattr(exc, "snapshot_path", None)  # what transformers fetched of it when it loaded it
            if folder is None:
                raise
            ends.enter_context(_offline())  # nothing else may come that was not looked at
        if parts := reaches_out(str(folder)):
            text = (
                f"{_reaching_out(str(node.uri), parts)}; "
                "download it, look at it, and name its folder, pinned with 'sha256' or in a trusted one"
            )
            raise InvalidEnsemble([Problem(node.spec.path("uri"), "untrusted_file", text)])
        yield Place(name, os.path.basename(os.path.normpath(folder)))


class _Offline:
    """Keeps transformers from the hub: a folder's configuration may name other models there, such as a backbone.

    The setting is the process's, and several threads load at one time: the last one to end restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count, self._before = 0, False

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        constants: Any = importlib.import_module("huggingface_hub.constants")
        with self._lock:
            if not self._count:
                self._before = constants.HF_HUB_OFFLINE
                constants.HF_HUB_OFFLINE = True
            self._count += 1
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1
                if not self._count:
                    constants.HF_HUB_OFFLINE = self._before


_offline: Final = _Offline()


def transformers_of(node: CheckedNode[HubOptions]) -> Any:
    """Imports transformers.

    Raises:
        InvalidEnsemble: ``not_installed``: it is not there; the message says how to install it.
    """
    without_kernels()
    try:
        import torch  # noqa: F401 - transformers itself does without, and fails later
        from PIL import Image  # noqa: F401

        transformers: Any = importlib.import_module("transformers")
    except ImportError as exc:
        raise not_installed(node, EXTRA, exc) from exc
    transformers.utils.logging.disable_progress_bar()  # nobody sees a worker's progress
    # Where an argument is lost on its way transformers asks on standard input whether to run a model's code.
    modules: Any = importlib.import_module("transformers.dynamic_module_utils")
    modules.TIME_OUT_REMOTE_CODE = 0
    return transformers


def without_kernels() -> None:
    """Hides a package with which transformers runs code of the hub that a model's configuration names.

    transformers looks for it while it is imported, as Beam's handlers do.
    """
    sys.modules["kernels"] = None  # type: ignore[assignment]
