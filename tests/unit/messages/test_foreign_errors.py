"""Messages quote the last cause of other libraries' exceptions, short and without a stack trace."""

from __future__ import annotations

import time

import pytest

from beam_ensembles.errors import NodeError
from beam_ensembles.limits import LONGEST_FOREIGN
from beam_ensembles.messages.foreign_errors import described, text_of

XGBOOST = """[12:43:18] /workspace/src/data/cat_container.h:29: Found a category not in the training set: `zz`
Stack trace:
  [bt] (0) /opt/lib/python3.11/site-packages/xgboost/lib/libxgboost.so(+0x11031e) [0x7ffb2d91031e]
  [bt] (1) /opt/lib/python3.11/site-packages/xgboost/lib/libxgboost.so(+0x8d258f) [0x7ffb2e0d258f]

"""
TORCHSCRIPT = """The following operation failed in the TorchScript interpreter.
Traceback of TorchScript (most recent call last):
  File "/opt/train.py", line 24, in forward
    def forward(s,x): return s.l(x)
                             ~~~ <--- HERE
RuntimeError: addmm: mat1 and mat2 shapes cannot be multiplied (2x4 and 3x2)
"""
KERAS_CALL = """Exception encountered when calling Sequential.call().

\x1b[1mInput 0 of layer 'dense' is incompatible with the layer: expected axis -1 to have value 3\x1b[0m

Arguments received by Sequential.call():
  • inputs=tf.Tensor([[1. 2. 3. 4.]], shape=(1, 4), dtype=float32)
"""
KERAS_LOAD = f"""<class 'keras.Sequential'> could not be deserialized properly. Please ensure that components.

config={{{"'layer': 'Dense', " * 200}}}.

Exception encountered: Could not locate class 'Twice'. Make sure custom classes are decorated.

Full object config: {{'module': 'team.layers'}}"""
ONNX_LOCALE = (
    "[ONNXRuntimeError] : 1 : FAIL : Exception during initialization: "
    "/onnxruntime_src/onnxruntime/core/providers/cpu/text/string_normalizer.cc:235 "
    "onnxruntime::StringNormalizer::Locale::Locale(const std::string&)::<lambda()> "
    "Failed to construct locale with name:en_US.UTF-8"
)
ONNX_RUN = (
    "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running Reshape node. "
    "Status Message: /onnxruntime_src/onnxruntime/core/providers/cpu/tensor/reshape_helper.h:47 "
    "onnxruntime::ReshapeHelper::ReshapeHelper(const onnxruntime::TensorShape&, TensorShapeVector&, bool) "
    "input_shape_size == size was false. The input tensor cannot be reshaped"
)
TENSORFLOW = """Graph execution error:

Detected at node model/dense/MatMul defined at (most recent call last):
  File "/opt/train.py", line 3, in <module>
Matrix size-incompatible: In[0]: [2,3], In[1]: [4,2]
\t [[{{node model/dense/MatMul}}]] [Op:__inference_serve_65]"""
TENSORFLOW_EAGER = (
    "{{function_node __wrapped__MatMul_device_/job:localhost/replica:0/device:CPU:0}} "
    "Matrix size-incompatible: In[0]: [2,3], In[1]: [4,2] [Op:MatMul] name: "
)
TORCH_NATIVE = """Expected all tensors to be on the same device
Exception raised from compute at /pytorch/aten/src/ATen/TensorIterator.cpp:9 (most recent call first):
frame #0: c10::Error::Error(c10::SourceLocation) + 0x57 (0x7f in /opt/libc10.so)"""
REMOTE = """worker failed
Traceback (most recent call last):
  File "/opt/serve.py", line 9, in run
    return 1 / 0
ZeroDivisionError: division by zero"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (XGBOOST, "Found a category not in the training set: `zz`"),
        (TORCHSCRIPT, "RuntimeError: addmm: mat1 and mat2 shapes cannot be multiplied (2x4 and 3x2)"),
        (
            KERAS_CALL,
            "Exception encountered when calling Sequential.call(). Input 0 of layer 'dense' is incompatible with "
            "the layer: expected axis -1 to have value 3",
        ),
        (KERAS_LOAD, "Could not locate class 'Twice'. Make sure custom classes are decorated."),
        (
            ONNX_LOCALE,
            "[ONNXRuntimeError] : 1 : FAIL : Exception during initialization: "
            "Failed to construct locale with name:en_US.UTF-8",
        ),
        (
            ONNX_RUN,
            "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running Reshape node. "
            "Status Message: input_shape_size == size was false. The input tensor cannot be reshaped",
        ),
        (TENSORFLOW, "Graph execution error: Matrix size-incompatible: In[0]: [2,3], In[1]: [4,2]"),
        (TENSORFLOW_EAGER, "Matrix size-incompatible: In[0]: [2,3], In[1]: [4,2]"),
        (TORCH_NATIVE, "Expected all tensors to be on the same device"),
        (REMOTE, "worker failed ZeroDivisionError: division by zero"),
        ("", ""),
        ("one line", "one line"),
    ],
    ids=lambda text: text.split("\n")[0][:20],
)
def test_the_last_cause_is_kept_and_no_trace(text: str, wanted: str) -> None:
    assert text_of(RuntimeError(text)) == wanted


def test_a_long_text_is_cut_with_its_first_line_first() -> None:
    shown = text_of(ValueError("the first line\n" + "more of it\n" * 1_000))
    assert shown.startswith("the first line more of it")
    assert len(shown) == LONGEST_FOREIGN
    assert shown.endswith("...")


def test_a_cause_is_named_behind_what_was_raised_from_it() -> None:
    error = ValueError("the model cannot be read")
    error.__cause__ = OSError("x" * 1_000)
    error.__cause__.__cause__ = KeyError("weights")
    assert described(error) == "ValueError: the model cannot be read (cause: KeyError: 'weights')"
    error.__cause__ = OSError("cannot be read")
    assert described(error) == "ValueError: the model cannot be read"
    long = ValueError("y" * 1_000)
    long.__cause__ = OSError("x" * 1_000)
    assert len(described(long)) <= LONGEST_FOREIGN + len("ValueError: ")
    assert "(cause: OSError: xxx" in described(long)


def test_an_exception_without_text_is_named_by_its_type() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise TypeError("no text")

    assert described(StopIteration()) == "StopIteration"
    assert described(Mute()) == "Mute"


def test_what_a_member_raises_is_cut_and_its_stack_kept() -> None:
    error = NodeError.of(RuntimeError(XGBOOST))
    assert error.message == "RuntimeError: Found a category not in the training set: `zz`"
    assert "Stack trace:" in error.stack


@pytest.mark.parametrize(
    "part", ["/", "/a.cc:1 a::", "[[{{node ", "Exception encountered: ", "(most recent call last):\n", " \n"]
)
def test_no_text_takes_long(part: str) -> None:
    start = time.process_time()
    text_of(ValueError(part * (100_000 // len(part))))
    assert time.process_time() - start < 3  # it takes 0.05 s; a quadratic expression takes minutes
