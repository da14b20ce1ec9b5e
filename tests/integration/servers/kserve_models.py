"""A KServe model server with a few models; a program that runs in KServe's own environment.

Called with the port of gRPC and that of HTTP. ``double_raw`` answers with raw bytes, ``double`` with lists of values.
"""

import sys

import numpy as np
from kserve import InferOutput, InferResponse, Model, ModelServer


class Doubling(Model):
    """Doubles its ``x`` and refuses negative numbers."""

    def __init__(self, name, raw):
        super().__init__(name)
        self.ready = True
        self._raw = raw

    async def get_input_types(self):
        """Returns what the model takes."""
        return [{"name": "x", "datatype": "FP64", "shape": [-1, 2]}]

    async def get_output_types(self):
        """Returns what the model gives."""
        return [
            {"name": "y", "datatype": "FP64", "shape": [-1, 2]},
            {"name": "count", "datatype": "INT32", "shape": [-1]},
            {"name": "sign", "datatype": "BYTES", "shape": [-1]},
        ]

    def predict(self, payload, headers=None):
        """Answers one request."""
        x = payload.inputs[0].as_numpy()
        if (x < 0).any():
            raise ValueError("a negative number")
        answers = {
            "y": ("FP64", x * 2),
            "count": ("INT32", np.count_nonzero(x, axis=1).astype(np.int32)),
            "sign": ("BYTES", np.array(["+" if row.any() else "0" for row in x], dtype=object)),
        }
        outputs = []
        for name, (datatype, values) in answers.items():
            output = InferOutput(name, list(values.shape), datatype)
            output.set_data_from_numpy(values, binary_data=self._raw)
            outputs.append(output)
        return InferResponse(payload.id, self.name, outputs)


if __name__ == "__main__":
    grpc_port, http_port = map(int, sys.argv[1:])
    models = [Doubling("double", raw=False), Doubling("double_raw", raw=True)]
    ModelServer(http_port=http_port, grpc_port=grpc_port, workers=1).start(models)
