package io.github.beamensembles;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.stream.Stream;
import org.apache.beam.fn.harness.ExternalWorkerService;
import org.apache.beam.model.fnexecution.v1.BeamFnExternalWorkerPoolGrpc;
import org.apache.beam.sdk.fn.server.FnService;
import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.util.construction.PipelineOptionsTranslation;

/**
 * Starts workers in this program, each with pipeline options of its own. Beam's service shares one
 * object among them: a worker writes defaults into it, and shuts down its executor when it ends.
 *
 * @see BeamGrpc
 */
final class WorkerPool {

  private static final String DEFINITION = "io.grpc.ServerServiceDefinition";
  private static final String DEFINITION_BUILDER = "io.grpc.ServerServiceDefinition$Builder";
  private static final String METHOD = "io.grpc.MethodDescriptor";
  private static final String HANDLER = "io.grpc.ServerCallHandler";
  private static final String CALLS = "io.grpc.stub.ServerCalls";
  private static final String UNARY = "io.grpc.stub.ServerCalls$UnaryMethod";

  private WorkerPool() {}

  /** Returns the service that a runner asks for workers of the pipelines with these options. */
  static FnService of(PipelineOptions options) {
    return (FnService)
        Proxy.newProxyInstance(
            FnService.class.getClassLoader(),
            new Class<?>[] {FnService.class},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "bindService" -> definition(options);
                  case "hashCode" -> System.identityHashCode(proxy);
                  case "equals" -> proxy == arguments[0];
                  case "toString" -> "workers in this program";
                  default -> null; // close
                });
  }

  private static Object definition(PipelineOptions options) {
    Object builder =
        BeamGrpc.call(
            BeamGrpc.method(DEFINITION, "builder", String.class),
            null,
            BeamFnExternalWorkerPoolGrpc.SERVICE_NAME);
    add(builder, "startWorker", "getStartWorkerMethod", options);
    add(builder, "stopWorker", "getStopWorkerMethod", options);
    return BeamGrpc.call(BeamGrpc.method(DEFINITION_BUILDER, "build"), builder);
  }

  private static void add(Object builder, String name, String descriptor, PipelineOptions options) {
    Method method =
        Stream.of(ExternalWorkerService.class.getMethods())
            .filter(it -> it.getName().equals(name))
            .findFirst()
            .orElseThrow();
    Object call =
        BeamGrpc.implement(
            UNARY,
            (proxy, invoked, arguments) ->
                invoked.getDeclaringClass() == Object.class
                    ? invoked.invoke(method, arguments)
                    : BeamGrpc.call(method, new ExternalWorkerService(copy(options)), arguments));
    try {
      BeamGrpc.call(
          BeamGrpc.method(
              DEFINITION_BUILDER, "addMethod", BeamGrpc.type(METHOD), BeamGrpc.type(HANDLER)),
          builder,
          BeamFnExternalWorkerPoolGrpc.class.getMethod(descriptor).invoke(null),
          BeamGrpc.call(
              BeamGrpc.method(CALLS, "asyncUnaryCall", BeamGrpc.type(UNARY)), null, call));
    } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException("this version of Beam is not supported", e);
    }
  }

  /** Returns what a worker in a process of its own would get. */
  private static PipelineOptions copy(PipelineOptions options) {
    return PipelineOptionsTranslation.fromJson(PipelineOptionsTranslation.toJson(options));
  }
}
