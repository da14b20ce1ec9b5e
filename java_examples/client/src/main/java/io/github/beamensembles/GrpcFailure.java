package io.github.beamensembles;

/** A call that failed, with the status that gRPC gives it. */
final class GrpcFailure extends RuntimeException {

  private final String code;
  private final String description;

  private GrpcFailure(String code, String description, RuntimeException cause) {
    super(code, cause);
    this.code = code;
    this.description = description;
  }

  /** Returns a failure of gRPC as one of these, and any other as it is. */
  static RuntimeException of(RuntimeException failure) {
    if (!BeamGrpc.type("io.grpc.StatusRuntimeException").isInstance(failure)) {
      return failure;
    }
    Object status =
        BeamGrpc.call(BeamGrpc.method("io.grpc.StatusRuntimeException", "getStatus"), failure);
    Enum<?> code = (Enum<?>) BeamGrpc.call(BeamGrpc.method("io.grpc.Status", "getCode"), status);
    Object description = BeamGrpc.call(BeamGrpc.method("io.grpc.Status", "getDescription"), status);
    return new GrpcFailure(code.name(), description == null ? "" : description.toString(), failure);
  }

  /** The name of the status code, such as {@code UNAVAILABLE}. */
  String code() {
    return code;
  }

  /** Whether the other side answered in HTTP, but not as gRPC does. */
  boolean isFromHttp() {
    for (Throwable cause = this; cause != null; cause = cause.getCause()) {
      String said = String.valueOf(cause.getMessage());
      if (said.contains("First received frame was not SETTINGS")
          || said.contains("http2 exception")
          || said.contains("HTTP status code")
          || said.contains("invalid content-type")) {
        return true;
      }
    }
    return false;
  }

  /** Code and description, on one line. */
  String status() {
    String said = description.strip().replaceAll("\\s+", " ");
    return said.isEmpty() ? code : code + ": " + said;
  }

  /** What the other side says; may be empty. */
  String description() {
    return description;
  }
}
