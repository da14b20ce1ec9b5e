"""Writes the list of TensorFlow's operations that a SavedModel may have without being trusted.

``python -m scripts.tensorflow_operations`` derives it from the registry of the TensorFlow that is installed: of the
public operations (``tf.raw_ops``) those without state that only compute, and the named families that keep numbers,
tables or random states. The list is checked in: a later TensorFlow adds nothing to it by itself.
"""

from __future__ import annotations

import re
from typing import Any, Final

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.handlers.tensorflow import operations

_NOT_COMPUTING: Final = re.compile(
    "Dataset|Iterator|Tpu|TPU|Xla|Collective|Nccl|CrossReplica|AllToAll|DTensor|Relayout|Mesh|Mlir|Jit"  # elsewhere
    "|File|Reader|Save|Restore|Checkpoint|Remap|Vocab|RecordInput|ImmutableConst|Skipgram|NegTrain|Fixed.*Sampler"
    "|Summar|Debug|Dump|Print|Calibration|CustomAggregator|NumericSummary|^Copy|Stats"  # write what they see
    "|Remote|Rpc|Send|Recv|Infeed|Outfeed|Prelinearize|Distributed|Session|PyFunc|Abort|Sleep|Mutex"
    "|Queue|Barrier|Accumulator|Stage|^Map|^OrderedMap|^Batch$|^Unbatch|^BatchFunction|Cache|SeedGenerator"
    "|BoostedTrees|TensorForest|Sdca|Wals|Proto|ParseTensor|Deserialize|ompressElement|GetOptions|GetElementAtIndex"
    "|SparseCore|Coo|Minibatch|Dedup|Embedding|CheckPinned|WindowOp|Lite|Experimental|Risc|Stub|^Fact$|^For$"
    "|^Empty$|TemporaryVariable|Inplace|ParallelConcat"
)
"""Operations that reach beyond their tensors (files, network, Python, logs, devices, other steps), that give memory
which nobody has filled (``Empty``), that wait for others, or that read structures of no use to a model."""

_NOT_FOR_INFERENCE: Final = re.compile(
    "(?!(Prevent|Stop)Gradient|BroadcastGradientArgs|(BiasAdd|Elu|Inv|LeakyRelu|Reciprocal|Relu6?|Rsqrt|Selu|Sigmoid|Softplus"
    "|Softsign|Sqrt|Tanh)Grad$|(Conv[23]D|DepthwiseConv2dNative)BackpropInput(V2)?$)\\w*(Grad|Backprop|Apply)"
    "|\\w*CandidateSampler|ComputeAccidentalHits|CTCLoss|Kmeans|KMC2|\\w*SampleDistorted"
    "|Quantized|Requantiz|QuantizeDown|Uniform(Quantize|Dequantize|Requantize)"  # as no exporter writes them any longer
    "|Batch(Cholesky|I?FFT|Matrix(?!Mul)|SelfAdjoint|Svd)"
    "|FakeParam$|BlockLSTM|MatrixSolveLs|\\w*(Binomial|Poisson)"  # answer with unwritten memory, or never end
)
"""Operations that only compute, and that models for inference do not need: gradients, optimizers, losses, samplers of
training, and kernels for whole numbers of long ago. Among them are those that end the process
(``MaxPoolGradWithArgmax``, ``UniformQuantizedConvolution``), never end (``RandomPoissonV2``) or answer with memory that
nobody has written (``QuantizedMatMul``). ``SymbolicGradient`` makes any of them of a function's name."""

_WITH_STATE: Final = re.compile(
    "(Stateful|Random|ParameterizedTruncated|Rng|Truncated|Multinomial|Sample|StatelessRandomGetAlg)\\w*"
    "|(LogUniform|LearnedUnigram|ThreadUnsafeUnigram|Uniform|All)CandidateSampler"
    "|(Var|Variable|Read|Assign|Resource(?!Using|Create|Initialized|Conditional))\\w*|DestroyResourceOp|DisableCopyOnRead"
    "|(Anonymous|Mutable)?(Mutable)?(Dense)?HashTable\\w*|(Lookup|Initialize)Table\\w*|TensorArray\\w*|Stack\\w*"
    "|CudnnRNN\\w*|CheckNumerics\\w*|If|While|Case|StatefulPartitionedCall|Assert|Timestamp|GuaranteeConst|DeepCopy"
)
"""Operations with state that keep numbers, tables or random states of the model, or that call its functions."""

_BESIDES: Final = frozenset(("IteratorGetNext", "ShardedFilename", "ShardedFilespec"))
"""``IteratorGetNext`` takes an iterator that nothing here can make; the others put texts together."""


def found() -> list[str]:
    """Returns the names of the operations, in order."""
    tf = inference_imports.import_handlers("tensorflow_inference").tf
    return sorted(name for name, definition in registry().items() if _computes(tf, name, definition))


def registry() -> dict[str, Any]:
    """Returns the definition of each operation that the installed TensorFlow has."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    known = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    return {definition.name: definition for definition in known.op}


def _computes(tf: Any, name: str, definition: Any) -> bool:
    if name in _BESIDES:
        return True
    if not hasattr(tf.raw_ops, name) or _NOT_COMPUTING.search(name) or _NOT_FOR_INFERENCE.match(name):
        return False
    return not definition.is_stateful or _WITH_STATE.fullmatch(name) is not None


def main() -> None:
    """Writes the list."""
    operations.FILE.write_text("\n".join(found()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
