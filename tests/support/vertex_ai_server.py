"""Stands in for Vertex AI itself, for Google's own client: a real endpoint needs an account of Google Cloud.

Only the cloud is made up. The client is Google's, and so are its credentials (a service account whose key was made for
the test, with which it signs its tokens); it speaks gRPC over TLS with the host of the region. gRPC's own setting for
proxies takes it to the server here, its own setting for roots makes it trust this server's certificate.
"""

from __future__ import annotations

import contextlib
import datetime
import http.server
import json
import select
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from pathlib import Path
from typing import Any, Final

import grpc
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt
from google.cloud.aiplatform_v1.types import endpoint, endpoint_service, prediction_service
from google.protobuf import json_format, struct_pb2

from tests.support.certificates import make_certificate

LOCATION: Final = "us-central1"
HOST: Final = f"{LOCATION}-aiplatform.googleapis.com"
_PACKAGE: Final = "google.cloud.aiplatform.v1"
_ACCOUNT: Final = "worker@flowers.iam.gserviceaccount.com"
_BLOCK: Final = 1 << 16
_DECODE: Final[Any] = jwt.decode

DeployedModel = Callable[[list[Any]], list[Any]]
"""All instances of a request to all predictions."""


@contextlib.contextmanager
def served(folder: Path, models: Mapping[str, DeployedModel]) -> Iterator[dict[str, str]]:
    """Serves endpoints with one deployed model each.

    Args:
        folder: Where keys and certificates go.
        models: The models, by the number of their endpoint.

    Yields:
        The environment variables with which a process reaches them as it would reach Google's.
    """
    key, certificate = make_certificate(folder, HOST)
    account, public_key = _account(folder)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers(_handlers(models, public_key))
    pair = (key.read_bytes(), certificate.read_bytes())
    port = server.add_secure_port("localhost:0", grpc.ssl_server_credentials([pair]))
    server.start()
    try:
        with _proxy(port) as address:
            yield {
                "GOOGLE_APPLICATION_CREDENTIALS": str(account),
                "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(certificate),
                "grpc_proxy": f"http://{address}",
                "no_grpc_proxy": "localhost,127.0.0.1,::1",
            }
    finally:
        server.stop(None)


def _account(folder: Path) -> tuple[Path, bytes]:
    """Writes the file of a service account; gives its path and the public key."""
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    found = {"type": "service_account", "project_id": "flowers", "private_key_id": "1", "private_key": text}
    # Nobody is asked for a token: the client signs its own.
    found |= {"client_email": _ACCOUNT, "token_uri": "http://localhost:1/token"}
    path = folder / "account.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return path, public


def _handlers(models: Mapping[str, DeployedModel], public_key: bytes) -> tuple[grpc.GenericRpcHandler, ...]:
    def checked(name: str, context: grpc.ServicerContext) -> DeployedModel:
        _check_caller(context, public_key)
        found = models.get(name.rpartition("/")[2])
        if found is None:
            context.abort(grpc.StatusCode.NOT_FOUND, f"there is no endpoint '{name}'")
            raise AssertionError
        return found

    def get_endpoint(request: Any, context: grpc.ServicerContext) -> Any:
        checked(request.name, context)
        deployed = endpoint.DeployedModel(id="1", model="projects/flowers/locations/us-central1/models/1")
        made = datetime.datetime.now(datetime.UTC)
        return endpoint.Endpoint(name=request.name, deployed_models=[deployed], create_time=made)

    def predict(request: Any, context: grpc.ServicerContext) -> Any:
        model = checked(request.endpoint, context)
        values = prediction_service.PredictRequest.pb(request).instances
        answers = model([json_format.MessageToDict(value) for value in values])
        response = prediction_service.PredictResponse(deployed_model_id="1")
        predictions = prediction_service.PredictResponse.pb(response).predictions
        predictions.extend(json_format.ParseDict(one, struct_pb2.Value()) for one in answers)
        return response

    methods: dict[str, tuple[str, Any, Any, Any]] = {
        "EndpointService": ("GetEndpoint", get_endpoint, endpoint_service.GetEndpointRequest, endpoint.Endpoint),
        "PredictionService": (
            "Predict", predict, prediction_service.PredictRequest, prediction_service.PredictResponse,
        ),
    }  # fmt: skip
    return tuple(
        grpc.method_handlers_generic_handler(
            f"{_PACKAGE}.{service}",
            {name: grpc.unary_unary_rpc_method_handler(method, asked.deserialize, answer.serialize)},
        )
        for service, (name, method, asked, answer) in methods.items()
    )


def _check_caller(context: grpc.ServicerContext, public_key: bytes) -> None:
    """Refuses who has no token that the service account signed, as Google does."""
    given = dict(context.invocation_metadata() or ()).get("authorization", "")
    try:
        said = _DECODE(str(given).removeprefix("Bearer "), certs=public_key)
    except ValueError as exc:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, f"this is not a token of the account: {exc}")
        raise AssertionError from exc
    assert said["iss"] == _ACCOUNT


@contextlib.contextmanager
def _proxy(port: int) -> Iterator[str]:
    """Runs a proxy that takes whoever asks for Vertex AI's host to a port here, and nobody anywhere else."""

    class Tunnels(http.server.BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            if self.path != f"{HOST}:443":
                self.send_error(403, "this proxy leads to Vertex AI only")
                return
            with socket.create_connection(("localhost", port)) as there:
                self.send_response(200)
                self.end_headers()
                _join(self.connection, there)

        def log_message(self, format: str, *args: Any) -> None:
            """Logs nothing."""

    with http.server.ThreadingHTTPServer(("localhost", 0), Tunnels) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"localhost:{server.server_port}"
        finally:
            server.shutdown()


def _join(one: socket.socket, other: socket.socket) -> None:
    """Hands on what either sends to the other, until one has ended."""
    ends = {one: other, other: one}
    while True:
        for ready in select.select(list(ends), [], [])[0]:
            with contextlib.suppress(ConnectionError):
                if block := ready.recv(_BLOCK):
                    ends[ready].sendall(block)
                    continue
            return
