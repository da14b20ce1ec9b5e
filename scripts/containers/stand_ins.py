"""Stand-ins of the public base images, for a machine that reaches package registries but no image registry.

Debian with its Python takes the place of the images of Python, NVIDIA and Beam; ``boot`` is built from its source.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from scripts.containers.engine import Engine
from scripts.shell import log_path, run
from scripts.toolchains import go

PYTHON_BASE: Final = "python:3.11-slim"
CUDA_BASE: Final = "debian-without-cuda:bookworm"
"""Named for what it is: no CUDA can be had of Debian."""
ARGUMENTS: Final = {"PYTHON_VERSION": "3.11", "CUDA_BASE": CUDA_BASE}
"""The build arguments with which the images are built on them."""

_BOOT: Final = "github.com/apache/beam/sdks/v2/python/container"
_CERTIFICATES: Final = Path("/etc/ssl/certs/ca-certificates.crt")
_TRUST: Final = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_PACKAGES: Final = "ca-certificates,python3,python3-venv"
_SOURCES: Final = ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")
_NOT_NEEDED: Final = ("doc", "info", "locale", "man")


def make(engine: Engine, beam: str) -> str:
    """Makes them.

    Args:
        engine: Where they are to be.
        beam: The version of Beam.

    Raises:
        CommandFailed: a package cannot be had.
    """
    folder = Path(str(engine.folder), "bases")
    folder.mkdir()
    log = log_path("stand-ins")
    run(_debian(folder / "debian.tar"), log=log)
    trust = " ".join(f"{name}={_CERTIFICATES}" for name in _TRUST)
    engine.docker("import", "--change", f"ENV {trust}", folder / "debian.tar", PYTHON_BASE, log="stand-ins")
    (folder / "debian.tar").unlink()
    engine.docker("tag", PYTHON_BASE, CUDA_BASE, log="stand-ins")
    go.build(_BOOT, folder / "boot")
    (folder / "Dockerfile").write_text(
        f"FROM {PYTHON_BASE}\nCOPY boot /opt/apache/beam/boot\n", encoding="utf-8"
    )
    image = f"apache/beam_python{ARGUMENTS['PYTHON_VERSION']}_sdk:{beam}"
    engine.docker("build", *engine.network, "--tag", image, folder, log="stand-ins")
    shutil.rmtree(folder)
    return f"{PYTHON_BASE} and others, of Debian's packages"


def _debian(archive: Path) -> list[str | Path]:
    """Gives the command that makes Debian 12 with its Python, and with the authorities that this machine trusts."""
    links = " && ".join(f'ln -s /usr/bin/python3 "$1/usr/local/bin/{name}"' for name in ("python", "python3"))
    hooks = [f'cp -L {_CERTIFICATES} "$1{_CERTIFICATES}"', links]
    return [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={_PACKAGES}",
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _NOT_NEEDED),
        *(f"--customize-hook={hook}" for hook in hooks),
        "bookworm",
        archive,
        next(source for source in _SOURCES if os.path.exists(source)),
    ]
