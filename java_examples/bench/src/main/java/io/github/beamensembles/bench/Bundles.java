package io.github.beamensembles.bench;

import org.apache.beam.sdk.io.range.OffsetRange;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.transforms.splittabledofn.RestrictionTracker;

/**
 * Gives the rows of a part in pieces, each of which is a bundle of its own, as readers of files and
 * queues do: after a piece it returns, and is called for the others. A restriction counts pieces.
 */
@DoFn.BoundedPerElement
final class Bundles extends DoFn<Long, Long> {

  private final long rows;

  Bundles(long rows) {
    this.rows = rows;
  }

  @GetInitialRestriction
  public OffsetRange pieces(@Element Long count) {
    return new OffsetRange(0, (count + rows - 1) / rows);
  }

  @ProcessElement
  public ProcessContinuation process(
      @Element Long count,
      RestrictionTracker<OffsetRange, Long> tracker,
      OutputReceiver<Long> output) {
    long piece = tracker.currentRestriction().getFrom();
    if (!tracker.tryClaim(piece)) {
      return ProcessContinuation.stop();
    }
    output.output(Math.min(rows, count - piece * rows));
    return ProcessContinuation.resume();
  }
}
