"""``model: open_inference``: a model on a server, called over gRPC."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from beam_ensembles.errors import Problem
from beam_ensembles.files.ensemble_files import FileProblem
from beam_ensembles.graph.kinds import ROWS_OF_A_CALL, CheckedNode, Kind, Member, NodeView, Work
from beam_ensembles.handlers.open_inference.address import Address, AddressError, parse_address
from beam_ensembles.handlers.open_inference.failures import CallError, unusable
from beam_ensembles.handlers.open_inference.metadata import Metadata, ask
from beam_ensembles.handlers.open_inference.settings import (
    OpenInferenceOptions,
    check_settings,
    seconds_of,
)
from beam_ensembles.handlers.open_inference.signature import check_metadata
from beam_ensembles.handlers.support.request_headers import has_secrets
from beam_ensembles.types import Type


class OpenInferenceKind(Kind[OpenInferenceOptions]):
    """Calls a model on a server of the Open Inference Protocol v2 through Beam's ``RemoteModelHandler``.

    A list in ``inputs`` is the model's only input, a mapping names each, ``input: column``; ``outputs`` take the
    model's outputs by name. All rows of a batch are one request, each tensor ``[N, ...]``; values are sent raw.

    ========================  ====================================================================
    the protocol's datatype   columns
    ========================  ====================================================================
    BOOL                      boolean
    INT8 to INT64             the integer of that size, or a smaller one
    UINT8 to UINT64           the unsigned integer of that size, or a smaller one
    FP32, FP64                float or double; FP32 takes integers of up to 16 bits too, FP64 any
    FP16                      float16, float, double
    BYTES                     string (UTF-8) or bytes; an output without a type is string
    ========================  ====================================================================

    What the server's metadata leave open is as declared; without metadata inputs are named, and outputs have types.
    """

    kind = "model"
    name = "open_inference"
    summary = "Calls a model on Triton, KServe or MLServer over gRPC (Open Inference Protocol v2)."
    takes = (
        "A list of columns is the model's only input; a mapping, {input: column}, names each. Whole numbers go "
        "into narrower types where each fits; FP16 takes float and double too, BYTES string and bytes."
    )
    gives = "The model's outputs, by name; BYTES is string unless bytes is declared."
    extra = "open_inference"
    modules = ("tritonclient",)
    work = Work.ELSEWHERE
    call_rows = ROWS_OF_A_CALL
    options = OpenInferenceOptions

    def check(self, node: NodeView[OpenInferenceOptions]) -> Mapping[str, Type | None]:
        """Compares the node with what the server says of the model, where it answers soon."""
        problems: list[Problem] = []
        noting = dataclasses.replace(node, report=problems.append)
        address = _address(noting)
        check_settings(noting, address)
        for problem in problems:
            node.report(problem)
        # Nobody is called, and no certificate is opened, for a file that may not.
        return check_metadata(
            node, None if address is None or problems or node.wrong else _asked(node, address)
        )

    def load(self, node: CheckedNode[OpenInferenceOptions]) -> Member:
        """Opens the channel to the server, which need not answer yet."""
        from beam_ensembles.handlers.open_inference.member import load_served

        return load_served(node, parse_address(str(node.uri)))


def _address(node: NodeView[OpenInferenceOptions]) -> Address | None:
    uri = node.options.uri
    try:
        address = parse_address(uri)
        node.files.check_host(uri)
    except AddressError as problem:
        node.problem("bad_value", "uri", str(problem))
        return None
    except FileProblem as problem:
        node.problem(problem.code, "uri", str(problem))
        return None
    return address


def _asked(node: NodeView[OpenInferenceOptions], address: Address) -> Metadata | None:
    """Asks the server; one that does not answer is not a mistake of a file that declares all types.

    One that wants a secret is not asked before workers do.
    """
    config = node.options.config
    if has_secrets(config):
        return None
    try:
        return ask(address, config, seconds_of(node.options))
    except CallError as error:
        failure = unusable(address, error)
        if not error.may_pass:
            node.problem(failure.code, "uri", failure.message)
        elif all(output.type is not None for output in node.spec.outputs):
            node.warning(failure.code, "uri", f"could not be asked what it is like: {failure.message}")
        else:
            text = f"could not be asked what it gives, and not every output has a type: {failure.message}"
            node.problem(failure.code, "uri", text)
    return None
