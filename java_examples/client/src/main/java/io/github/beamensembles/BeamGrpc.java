package io.github.beamensembles;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionRequest;

/**
 * The classes of gRPC that Beam brings along. Beam changes the package that they are in, so they
 * are not imported but looked up: in the package whose ByteString Beam's own messages have.
 */
final class BeamGrpc {

  private static final String BYTES = "com.google.protobuf.ByteString";

  private BeamGrpc() {}

  /**
   * Returns a class.
   *
   * @param name without the package that Beam puts before it, such as {@code io.grpc.Channel}
   */
  static Class<?> type(String name) {
    String needed = name;
    try {
      Class<?> bytes = ExpansionRequest.class.getMethod("toByteString").getReturnType();
      if (!bytes.getName().endsWith(BYTES)) {
        throw new ClassNotFoundException(bytes.getName());
      }
      needed = bytes.getName().substring(0, bytes.getName().length() - BYTES.length()) + name;
      return Class.forName(needed, true, bytes.getClassLoader());
    } catch (ReflectiveOperationException | LinkageError e) {
      throw missing(needed, e);
    }
  }

  /** Returns a public method of a class that {@link #type} finds. */
  static Method method(String type, String name, Class<?>... parameters) {
    try {
      return type(type).getMethod(name, parameters);
    } catch (NoSuchMethodException e) {
      throw missing(type(type).getName() + "." + name, e);
    }
  }

  /** Calls a method; {@code target} is null for a static one. Throws what the method throws. */
  static Object call(Method method, Object target, Object... arguments) {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof RuntimeException failure) {
        throw failure;
      }
      if (e.getCause() instanceof Error error) {
        throw error;
      }
      throw new IllegalStateException(e.getCause());
    } catch (IllegalAccessException e) {
      throw missing(method.toString(), e);
    }
  }

  /** Returns the value of a public static field. */
  static Object constant(String type, String name) {
    try {
      return type(type).getField(name).get(null);
    } catch (ReflectiveOperationException e) {
      throw missing(type(type).getName() + "." + name, e);
    }
  }

  /** Returns an object of an interface. */
  static Object implement(String type, InvocationHandler handler) {
    Class<?> implemented = type(type);
    return Proxy.newProxyInstance(
        implemented.getClassLoader(), new Class<?>[] {implemented}, handler);
  }

  /** Returns the bytes of a ByteString. */
  static byte[] bytes(Object byteString) {
    return (byte[]) call(method(BYTES, "toByteArray"), byteString);
  }

  private static EnsembleException missing(String what, Throwable cause) {
    return new EnsembleException(
        "RunEnsemble calls its service with the gRPC that Beam brings along, and finds no "
            + what
            + "; use a version of Beam from the table of supported versions"
            + " (docs/deploy/deploying.md), the same for all of Beam's artifacts",
        cause);
  }
}
