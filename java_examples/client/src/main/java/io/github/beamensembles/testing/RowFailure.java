package io.github.beamensembles.testing;

/**
 * Says that a {@link FakeEnsemble} cannot score a row: the row comes out of {@code withErrors()},
 * or fails its bundle where the pipeline takes no errors.
 */
public final class RowFailure extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final String node;
  private final String code;

  /**
   * Creates a failure.
   *
   * @param node the node of the ensemble that fails; empty where an input is wrong
   * @param code the stable name of the kind of failure, such as {@code model_error}
   * @param message what went wrong, for people
   */
  public RowFailure(String node, String code, String message) {
    super(message);
    this.node = node;
    this.code = code;
  }

  /** The node that fails. */
  public String node() {
    return node;
  }

  /** The stable name of the kind of failure. */
  public String code() {
    return code;
  }
}
