"""Prints of ``pyproject.toml`` what the images install, so that they are made again only where that has changed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
print("[project]")
for key in ("name", "version", "requires-python", "dependencies"):
    print(f"{key} = {json.dumps(project[key])}")
print("[project.optional-dependencies]")
for extra, packages in project["optional-dependencies"].items():
    if extra != "dev":
        print(f"{extra} = {json.dumps(packages)}")
