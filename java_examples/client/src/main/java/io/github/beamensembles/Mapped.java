package io.github.beamensembles;

import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.ParDo;
import org.apache.beam.sdk.transforms.SerializableFunction;

/** Maps elements where only the caller knows the output's coder. */
final class Mapped<InputT, OutputT> extends DoFn<InputT, OutputT> {

  private final SerializableFunction<InputT, OutputT> function;

  private Mapped(SerializableFunction<InputT, OutputT> function) {
    this.function = function;
  }

  static <InputT, OutputT> ParDo.SingleOutput<InputT, OutputT> by(
      SerializableFunction<InputT, OutputT> function) {
    return ParDo.of(new Mapped<>(function));
  }

  @ProcessElement
  public void process(@Element InputT element, OutputReceiver<OutputT> output) {
    output.output(function.apply(element));
  }
}
