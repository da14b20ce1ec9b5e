"""Addresses of models on servers."""

from __future__ import annotations

import pytest

from beam_ensembles.handlers.open_inference.address import Address, AddressError, parse_address


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("grpc://triton:8001/dense", Address("triton", 8001, "dense", "", False)),
        ("grpcs://triton.example.com:443/dense/3", Address("triton.example.com", 443, "dense", "3", True)),
        ("grpc://[::1]:8001/my%2Fmodel/v%201", Address("[::1]", 8001, "my/model", "v 1", False)),
    ],
)
def test_an_address_names_host_port_model_and_maybe_a_version(uri: str, address: Address) -> None:
    assert parse_address(uri) == address


def test_grpc_is_never_told_another_of_its_schemes() -> None:
    assert parse_address("grpc://unix:1/m").target == "dns:///unix:1"
    assert parse_address("grpc://[::1]:1/m").target == "dns:///[::1]:1"


@pytest.mark.parametrize(
    "uri",
    [
        "dense", "http://triton:8001/dense", "grpc://triton/dense", "grpc://triton:8001", "grpc://triton:8001/",
        "grpc://triton:8001/a/b/c", "grpc://triton:8001/a/", "grpc://:8001/a", "grpc://user:word@triton:8001/a",
        "grpc://triton:80010/a", "grpc://triton:x/a", "grpc://triton:8001/a?b=c", "grpc://[::1/a",
    ],
)  # fmt: skip
def test_what_is_none_is_refused_with_the_form_of_one(uri: str) -> None:
    with pytest.raises(AddressError, match="grpc://HOST:PORT/MODEL"):
        parse_address(uri)
