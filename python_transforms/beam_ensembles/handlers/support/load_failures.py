"""Why a model, or the code that it needs, cannot be loaded, and what to do about it."""

from __future__ import annotations

import importlib.util
import re
import sys
from typing import Final

from beam_ensembles.errors import listed
from beam_ensembles.handlers.support.library_versions import version_here
from beam_ensembles.messages.foreign_errors import described

BRING_CODE: Final = (
    "put its folder on PYTHONPATH, name it with 'beam-ensembles run --code DIR', or bring it in a bundle: "
    "'beam-ensembles pack --code PATH'"
)
"""What to do where a worker lacks a module of the user's."""
_SCRIPT: Final = "__main__"
_NO_ATTRIBUTE: Final = re.compile(r"Can't get attribute '([^']{1,200})' (?:on|from) <module '([^']{1,200})'")
_NOT_REGISTERED: Final = re.compile(
    r"Could not locate (?:class|function) '([^']{1,200})'"  # Keras
    r"|Unknown (?:layer|function|object|optimizer|loss|metric|activation|initializer|regularizer): '([^']{1,200})'"
    r"|Op type not registered '([^']{1,200})'"  # TensorFlow
    r"|Unknown builtin op: ([\w:]{1,200})"  # TorchScript
    r"|Could not find (?:the operator|schema for) ([\w:]{1,200})"
)
_NO_LOCALE: Final = re.compile(r"Failed to construct locale with name:([\w.@-]{1,99})")
_OTHER_WEIGHTS: Final = re.compile(r"Error\(s\) in loading state_dict for (\w{1,99})")
_MISSING_WEIGHTS: Final = re.compile(r"Missing key\(s\) in state_dict: ((?:\"[^\"]*\"(?:, )?)+)")
_UNEXPECTED_WEIGHTS: Final = re.compile(r"Unexpected key\(s\) in state_dict: ((?:\"[^\"]*\"(?:, )?)+)")
_WEIGHTS_WITHIN: Final = (
    "model_state_dict",
    "state_dict",
    "model_state",
    "model",
    "net",
    "weights",
    "module",
    "ema",
)
"""Where checkpoints keep the weights of their model."""
_MOST_KEYS: Final = 6
_NO_MODULE: Final = re.compile(r"No module named '([^']{1,200})'")


def reason(error: BaseException) -> str:
    """Returns why something cannot be loaded: what an exception says, in plain words where code is missing.

    Args:
        error: What loading raised, or what is its cause.
    """
    for one in _chain(error):
        found = _missing_code(one)
        if found is not None:
            return found
        locale = _NO_LOCALE.search(str(one))
        if locale is not None:
            name, language = locale[1], locale[1].partition(".")[0]
            return (
                f"onnxruntime needs the locale '{name}' for its texts, which this worker's system does not have; "
                f"install it (Debian: apt-get install locales, then localedef -i {language} -f UTF-8 {name}), "
                "or use this project's worker images, which have en_US.UTF-8"
            )
        weights = _other_weights(str(one))
        if weights is not None:
            return weights
        lacking = _NOT_REGISTERED.search(str(one))
        if lacking is not None:
            name = next(group for group in lacking.groups() if group is not None)
            return (
                f"it needs '{name}', which no imported module registers; name the module that does: "
                "imports: [package.module]"
            )
    return described(error)


def _other_weights(said: str) -> str | None:
    """Returns what is wrong with a state dict whose names are not those of its model; None where that is unclear."""
    model = _OTHER_WEIGHTS.search(said)
    missing, unexpected = (_keys(one.search(said)) for one in (_MISSING_WEIGHTS, _UNEXPECTED_WEIGHTS))
    if model is None or not missing or not unexpected:
        return None
    prefix = next((one[: -len(missing[0])] for one in unexpected if one.endswith(f".{missing[0]}")), "")
    if prefix:
        return (
            f"the names of the weights begin with '{prefix}', those of {model[1]} do not (there is "
            f"'{prefix}{missing[0]}' where '{missing[0]}' is needed), as DataParallel, torch.compile and trainers save "
            f"them; save the weights of the model within, or cut it off: name.removeprefix('{prefix}')"
        )
    within = next((one for one in _WEIGHTS_WITHIN if one in unexpected), None)
    if within is not None:
        return (
            f"the file is a checkpoint, which holds {listed(unexpected, _MOST_KEYS)}, and no state dict of {model[1]}; "
            f"save its weights alone: torch.save(torch.load(PATH)['{within}'], 'model.pt')"
        )
    return None


def _keys(found: re.Match[str] | None) -> list[str]:
    return [] if found is None else re.findall(r'"([\w.-]{1,200})"', found[1])


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__
    return found


def _missing_code(error: BaseException) -> str | None:
    if isinstance(error, AttributeError):
        lacking = _NO_ATTRIBUTE.search(str(error))
        return None if lacking is None else _missing_name(lacking[1], lacking[2])
    if isinstance(error, ModuleNotFoundError):
        lacking = _NO_MODULE.search(str(error))
        name = error.name or (lacking[1] if lacking is not None else "")
        return _missing_module(name) if name else None
    return None


def _missing_name(name: str, module: str) -> str:
    # Python calls a script by the name of the module that it is.
    script = getattr(sys.modules.get(_SCRIPT), "__spec__", None)
    if module == _SCRIPT or (script is not None and module == script.name):
        return (
            f"it needs '{name}' of '{_SCRIPT}', the script or notebook that saved it; move '{name}' to a module, save "
            f"the model again with what is imported from there, and bring the module: {BRING_CODE}"
        )
    library = _library(module)
    if library is not None:
        return f"it needs '{module}.{name}', which {library} on this worker does not have"
    return (
        f"it needs '{name}' of the module '{module}', which has no such name on this worker; bring the module that it "
        f"was saved with: {BRING_CODE}"
    )


def _missing_module(name: str) -> str:
    top = name.partition(".")[0]
    library = _library(name)
    if library is not None:
        return f"it needs the module '{name}', which {library} on this worker does not have"
    if top != name and importlib.util.find_spec(top) is not None:
        return f"it needs the module '{name}', which '{top}' on this worker does not have; {BRING_CODE}"
    return f"it needs the module '{name}', which this worker does not have; install it, {BRING_CODE}"


def _library(name: str) -> str | None:
    """Returns the installed library that a module's name is of, with its version; None for a module of the user's."""
    top = name.partition(".")[0]
    if top not in sys.modules or "." not in name:
        return None
    version = version_here(top)
    return None if version is None else f"{top} {version}"
