"""Stand-ins of the public base images, for a machine that reaches package registries but no image registry.

Debian with its Python takes the place of the images of Python, NVIDIA and Beam; ``boot`` is built from its source.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scripts.containers.engine import Engine
from scripts.shell import log_path, run
from scripts.toolchains import go

PYTHON: Final = "3.13"
"""That of Debian 13. Tests outside of containers have another one."""
PYTHON_BASE: Final = f"python:{PYTHON}-slim"
CUDA_BASE: Final = "debian-without-cuda:trixie"
"""Named for what it is: Debian has no CUDA."""
ARGUMENTS: Final = {"PYTHON_VERSION": PYTHON, "CUDA_BASE": CUDA_BASE}
"""The build arguments with which the images are built on them."""

_BOOT: Final = "github.com/apache/beam/sdks/v2/python/container"
_CERTIFICATES: Final = Path("/etc/ssl/certs/ca-certificates.crt")
_TRUST: Final = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_PACKAGES: Final = ("python3", "python3-venv")
_SOURCES: Final = ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
_RELEASE: Final = re.compile(r"\b(?:bookworm|trixie|forky)\b")
_NOT_NEEDED: Final = ("doc", "info", "locale", "man")


def make(engine: Engine, beam: str) -> str:
    """Creates them.

    Args:
        engine: Where they are to be.
        beam: The version of Beam.

    Raises:
        CommandFailed: a package is unavailable.
    """
    folder = Path(str(engine.folder), "bases")
    folder.mkdir()
    debian(engine, folder, "trixie", PYTHON_BASE, *_PACKAGES)
    engine.docker("tag", PYTHON_BASE, CUDA_BASE, log="stand-ins")
    go.build(_BOOT, folder / "boot")
    (folder / "Dockerfile").write_text(
        f"FROM {PYTHON_BASE}\nCOPY boot /opt/apache/beam/boot\n", encoding="utf-8"
    )
    image = f"apache/beam_python{ARGUMENTS['PYTHON_VERSION']}_sdk:{beam}"
    engine.docker("build", *engine.network, "--tag", image, folder, log="stand-ins")
    shutil.rmtree(folder)
    return f"{PYTHON_BASE} and others, of Debian's packages"


def debian(engine: Engine, folder: Path, release: str, image: str, *packages: str) -> None:
    """Builds an image of Debian with some of its packages, and with the authorities that this machine trusts.

    Args:
        engine: Where.
        folder: A scratch folder.
        release: Debian's name of it.
        image: What it is to be called.
        packages: Those that it is to have beside the essential ones.

    Raises:
        CommandFailed: a package is unavailable.
    """
    archive, sources = folder / f"{release}.tar", folder / f"{release}.sources"
    here = Path(next(source for source in _SOURCES if os.path.exists(source))).read_text(encoding="utf-8")
    sources.write_text(_RELEASE.sub(release, here), encoding="utf-8")
    run(_mmdebstrap(archive, release, sources, packages), log=log_path(f"stand-in-{release}"))
    trust = " ".join(f"{name}={_CERTIFICATES}" for name in _TRUST)
    engine.docker("import", "--change", f"ENV {trust}", archive, image, log=f"stand-in-{release}")
    archive.unlink()


def _mmdebstrap(archive: Path, release: str, sources: Path, packages: Sequence[str]) -> list[str | Path]:
    link = 'ln -s /usr/bin/python3 "$1/usr/local/bin/$name"'
    links = f'[ ! -e "$1/usr/bin/python3" ] || for name in python python3; do {link}; done'
    hooks = [f'cp -L {_CERTIFICATES} "$1{_CERTIFICATES}"', links]
    return [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={','.join(('ca-certificates', *packages))}",
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _NOT_NEEDED),
        *(f"--customize-hook={hook}" for hook in hooks),
        release,
        archive,
        sources,
    ]
