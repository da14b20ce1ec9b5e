"""How a program has its job run as a stream on Flink, in each language."""

from __future__ import annotations


def as_stream(language: str, elements: int) -> list[str]:
    """Returns the flags of a program whose job is to be a stream.

    Args:
        language: What it is written in: ``Python``, ``Go`` or ``Java``.
        elements: After how many of them a bundle ends.
    """
    return {
        "Python": ["--streaming", f"--max_bundle_size={elements}"],
        "Go": ["--runner_option=streaming=true", f"--runner_option=max_bundle_size={elements}"],
        "Java": ["--streaming=true", f"--maxBundleSize={elements}"],
    }[language]
