package io.github.beamensembles;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationHandler;
import java.time.Duration;
import java.util.Iterator;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import javax.net.ssl.KeyManager;
import javax.net.ssl.TrustManager;

/**
 * A connection to a gRPC server, over which messages go as bytes.
 *
 * @see BeamGrpc
 */
final class GrpcChannel implements AutoCloseable {

  /** Bounds an answer in bytes, as the service bounds its own. */
  static final int LONGEST_MESSAGE = 64 << 20;

  private static final String CHANNEL = "io.grpc.Channel";
  private static final String MANAGED = "io.grpc.ManagedChannel";
  private static final String BUILDER = "io.grpc.ManagedChannelBuilder";
  private static final String CREDENTIALS = "io.grpc.ChannelCredentials";
  private static final String TLS = "io.grpc.TlsChannelCredentials";
  private static final String TLS_BUILDER = "io.grpc.TlsChannelCredentials$Builder";
  private static final String METHOD = "io.grpc.MethodDescriptor";
  private static final String METHOD_BUILDER = "io.grpc.MethodDescriptor$Builder";
  private static final String METHOD_TYPE = "io.grpc.MethodDescriptor$MethodType";
  private static final String MARSHALLER = "io.grpc.MethodDescriptor$Marshaller";
  private static final String OPTIONS = "io.grpc.CallOptions";
  private static final String CALLS = "io.grpc.stub.ClientCalls";
  private static final String METADATA = "io.grpc.Metadata";
  private static final String KEY = "io.grpc.Metadata$Key";
  private static final String ASCII = "io.grpc.Metadata$AsciiMarshaller";
  private static final String INTERCEPTOR = "io.grpc.ClientInterceptor";

  private final Object managed;
  private final Object channel;

  private GrpcChannel(Object managed, Object channel) {
    this.managed = managed;
    this.channel = channel;
  }

  /** Opens a channel without TLS. */
  static GrpcChannel plain(String address, boolean proxied, Optional<String> token) {
    Object builder =
        BeamGrpc.call(BeamGrpc.method(BUILDER, "forTarget", String.class), null, address);
    BeamGrpc.call(BeamGrpc.method(BUILDER, "usePlaintext"), builder);
    return build(builder, proxied, token);
  }

  /** Opens a channel with TLS; {@code own} may be empty. */
  static GrpcChannel secured(
      String address,
      TrustManager[] trusted,
      KeyManager[] own,
      boolean proxied,
      Optional<String> token) {
    Object tls = BeamGrpc.call(BeamGrpc.method(TLS, "newBuilder"), null);
    BeamGrpc.call(
        BeamGrpc.method(TLS_BUILDER, "trustManager", TrustManager[].class), tls, (Object) trusted);
    if (own.length > 0) {
      BeamGrpc.call(
          BeamGrpc.method(TLS_BUILDER, "keyManager", KeyManager[].class), tls, (Object) own);
    }
    Object credentials = BeamGrpc.call(BeamGrpc.method(TLS_BUILDER, "build"), tls);
    Object builder =
        BeamGrpc.call(
            BeamGrpc.method(
                "io.grpc.Grpc", "newChannelBuilder", String.class, BeamGrpc.type(CREDENTIALS)),
            null,
            address,
            credentials);
    return build(builder, proxied, token);
  }

  private static GrpcChannel build(Object builder, boolean proxied, Optional<String> token) {
    if (!proxied) {
      String type = "io.grpc.ProxyDetector";
      Object none = BeamGrpc.implement(type, (proxy, method, arguments) -> null);
      BeamGrpc.call(BeamGrpc.method(BUILDER, "proxyDetector", BeamGrpc.type(type)), builder, none);
    }
    BeamGrpc.call(
        BeamGrpc.method(BUILDER, "maxInboundMessageSize", int.class), builder, LONGEST_MESSAGE);
    Object managed = BeamGrpc.call(BeamGrpc.method(BUILDER, "build"), builder);
    return new GrpcChannel(
        managed, token.map(it -> withHeader(managed, "Bearer " + it)).orElse(managed));
  }

  private static Object withHeader(Object channel, String authorization) {
    Object key =
        BeamGrpc.call(
            BeamGrpc.method(KEY, "of", String.class, BeamGrpc.type(ASCII)),
            null,
            "authorization",
            BeamGrpc.constant(METADATA, "ASCII_STRING_MARSHALLER"));
    Object header;
    try {
      header = BeamGrpc.type(METADATA).getConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("gRPC's headers cannot be made", e);
    }
    BeamGrpc.call(
        BeamGrpc.method(METADATA, "put", BeamGrpc.type(KEY), Object.class),
        header,
        key,
        authorization);
    Object interceptors = Array.newInstance(BeamGrpc.type(INTERCEPTOR), 1);
    Array.set(
        interceptors,
        0,
        BeamGrpc.call(
            BeamGrpc.method(
                "io.grpc.stub.MetadataUtils",
                "newAttachHeadersInterceptor",
                BeamGrpc.type(METADATA)),
            null,
            header));
    return BeamGrpc.call(
        BeamGrpc.method(
            "io.grpc.ClientInterceptors",
            "intercept",
            BeamGrpc.type(CHANNEL),
            interceptors.getClass()),
        null,
        channel,
        interceptors);
  }

  /**
   * Sends a message and waits for the answer.
   *
   * @param method such as {@code package.Service/Method}
   * @throws GrpcFailure the call failed
   */
  byte[] ask(String method, byte[] request, Duration patience) {
    Object options =
        BeamGrpc.call(
            BeamGrpc.method(OPTIONS, "withDeadlineAfter", long.class, TimeUnit.class),
            BeamGrpc.constant(OPTIONS, "DEFAULT"),
            patience.toMillis(),
            TimeUnit.MILLISECONDS);
    return (byte[]) start("blockingUnaryCall", "UNARY", method, request, options);
  }

  /**
   * Sends a message and hands over each of the answers.
   *
   * @throws GrpcFailure the call failed
   */
  void stream(String method, byte[] request, Consumer<byte[]> listener) {
    Object options = BeamGrpc.constant(OPTIONS, "DEFAULT");
    Iterator<?> answers =
        (Iterator<?>)
            start("blockingServerStreamingCall", "SERVER_STREAMING", method, request, options);
    while (isMore(answers)) {
      listener.accept((byte[]) answers.next());
    }
  }

  private static boolean isMore(Iterator<?> answers) {
    try {
      return answers.hasNext();
    } catch (RuntimeException e) {
      throw GrpcFailure.of(e);
    }
  }

  private Object start(String call, String type, String name, byte[] request, Object options) {
    try {
      return BeamGrpc.call(
          BeamGrpc.method(
              CALLS,
              call,
              BeamGrpc.type(CHANNEL),
              BeamGrpc.type(METHOD),
              BeamGrpc.type(OPTIONS),
              Object.class),
          null,
          channel,
          method(type, name),
          options,
          request);
    } catch (RuntimeException e) {
      throw GrpcFailure.of(e);
    }
  }

  private static Object method(String type, String name) {
    Object bytes = BeamGrpc.implement(MARSHALLER, MESSAGES);
    Class<?> marshaller = BeamGrpc.type(MARSHALLER);
    Object builder =
        BeamGrpc.call(
            BeamGrpc.method(METHOD, "newBuilder", marshaller, marshaller), null, bytes, bytes);
    BeamGrpc.call(
        BeamGrpc.method(METHOD_BUILDER, "setType", BeamGrpc.type(METHOD_TYPE)),
        builder,
        BeamGrpc.constant(METHOD_TYPE, type));
    BeamGrpc.call(
        BeamGrpc.method(METHOD_BUILDER, "setFullMethodName", String.class), builder, name);
    return BeamGrpc.call(BeamGrpc.method(METHOD_BUILDER, "build"), builder);
  }

  /** A gRPC marshaller of messages that are bytes already. */
  private static final InvocationHandler MESSAGES =
      (proxy, method, arguments) -> {
        return switch (method.getName()) {
          case "stream" -> new ByteArrayInputStream((byte[]) arguments[0]);
          case "parse" -> read((InputStream) arguments[0]);
          case "hashCode" -> System.identityHashCode(proxy);
          case "equals" -> proxy == arguments[0];
          default -> "messages as bytes";
        };
      };

  private static byte[] read(InputStream message) {
    try {
      return message.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    BeamGrpc.call(BeamGrpc.method(MANAGED, "shutdownNow"), managed);
  }
}
