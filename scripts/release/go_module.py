"""The Go module: a proxy of one version, made of what is committed, from which Go downloads it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Final

from scripts.layout import GO_MODULE, ROOT
from scripts.release.coordinates import GO_MODULE_PATH
from scripts.shell import CommandFailed, log_path, output, run
from scripts.toolchains import go

_LOG: Final = "release-go"


def make(folder: Path, version: str) -> str:
    """Creates the proxy and uses it: downloads the module, and vets what was downloaded, which compiles it.

    Args:
        folder: Where the proxy and the downloaded module come to lie.
        version: The version without its ``v``.

    Raises:
        CommandFailed: The module's path is another, or what the tag would hold does not compile.
    """
    alone = {**go.environment(), "GOWORK": "off"}  # the workspace has the examples, too
    said = output([go.require().path, "-C", GO_MODULE, "list", "-m"], env=alone)
    if said != GO_MODULE_PATH:
        raise CommandFailed(f"go.mod names the module {said}, not {GO_MODULE_PATH}")
    files = _committed()
    _write_proxy(folder / "proxy", f"v{version}", files)
    module = _downloaded(folder, f"v{version}")
    run([go.require().path, "vet", "./..."], log=log_path(_LOG), env=go.environment(), cwd=module)
    return f"{GO_MODULE_PATH}@v{version}, {len(files)} files"


def _committed() -> list[str]:
    """Returns the files that a tag would hold, relative to the module."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "."], cwd=GO_MODULE, capture_output=True, check=True, text=True
    )
    files = [name for name in listed.stdout.split("\0") if name]
    gone = [name for name in files if not (GO_MODULE / name).exists()]
    if gone:
        raise CommandFailed(f"committed, but not there: {', '.join(gone)}")
    return files


def _write_proxy(folder: Path, version: str, files: list[str]) -> None:
    """Writes what a proxy answers for one version; Go adds the repository's licence to such a module."""
    place = folder / GO_MODULE_PATH / "@v"
    place.mkdir(parents=True)
    (place / "list").write_text(f"{version}\n", encoding="utf-8")
    info = {"Version": version, "Time": "2026-01-01T00:00:00Z"}
    (place / f"{version}.info").write_text(json.dumps(info), encoding="utf-8")
    shutil.copy(GO_MODULE / "go.mod", place / f"{version}.mod")
    with zipfile.ZipFile(place / f"{version}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in files:
            archive.write(GO_MODULE / name, f"{GO_MODULE_PATH}@{version}/{name}")
        archive.write(ROOT / "LICENSE", f"{GO_MODULE_PATH}@{version}/LICENSE")


def _downloaded(folder: Path, version: str) -> Path:
    """Downloads the module and nothing else into a cache of its own; gives a folder that can be written to."""
    cache = folder / "cache"
    env = {
        **go.environment(),
        "GOPROXY": (folder / "proxy").as_uri(),
        "GONOSUMDB": GO_MODULE_PATH,
        "GOMODCACHE": str(cache),
        "GOFLAGS": "-modcacherw",
    }
    wanted = f"{GO_MODULE_PATH}@{version}"
    run([go.require().path, "mod", "download", "-x", wanted], log=log_path(_LOG), env=env, cwd=folder)
    module = folder / "module"
    shutil.copytree(cache / wanted, module)
    if not os.access(module / "go.mod", os.W_OK):
        raise CommandFailed(f"{module} cannot be written to")
    return module
