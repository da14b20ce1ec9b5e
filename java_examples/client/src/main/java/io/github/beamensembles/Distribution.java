package io.github.beamensembles;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.RoundingMode;

/**
 * What a metric knows of many numbers.
 *
 * @param count how many there were, at least one
 * @param sum their sum
 * @param min the smallest
 * @param max the largest
 */
public record Distribution(long count, long sum, long min, long max) implements Serializable {

  /** Their mean. */
  public double mean() {
    return (double) sum / count;
  }

  /** The distribution of the numbers of both; {@code other} may be null. */
  Distribution with(Distribution other) {
    if (other == null) {
      return this;
    }
    return new Distribution(
        count + other.count, sum + other.sum, Math.min(min, other.min), Math.max(max, other.max));
  }

  /** The mean in a larger unit, for a table. */
  static String mean(Distribution found, int unit, int digits) {
    return found == null ? "-" : rounded(found.mean() / unit, digits);
  }

  /** The mean and both ends in a larger unit, for a table. */
  static String spread(Distribution found, int unit, int digits, int digitsOfEnds) {
    return found == null
        ? "-"
        : mean(found, unit, digits)
            + " ("
            + rounded((double) found.min / unit, digitsOfEnds)
            + " to "
            + rounded((double) found.max / unit, digitsOfEnds)
            + ")";
  }

  /** As Python and Go round; {@code String.format} rounds halves of the decimal text up. */
  private static String rounded(double number, int digits) {
    return new BigDecimal(number).setScale(digits, RoundingMode.HALF_EVEN).toPlainString();
  }
}
