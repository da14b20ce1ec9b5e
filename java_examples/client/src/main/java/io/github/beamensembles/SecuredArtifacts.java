package io.github.beamensembles;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionResponse;
import org.apache.beam.model.jobmanagement.v1.ArtifactApi.GetArtifactRequest;
import org.apache.beam.model.jobmanagement.v1.ArtifactApi.GetArtifactResponse;
import org.apache.beam.model.jobmanagement.v1.ArtifactApi.ResolveArtifactsRequest;
import org.apache.beam.model.jobmanagement.v1.ArtifactApi.ResolveArtifactsResponse;
import org.apache.beam.model.pipeline.v1.RunnerApi.ArtifactFilePayload;
import org.apache.beam.model.pipeline.v1.RunnerApi.ArtifactInformation;
import org.apache.beam.model.pipeline.v1.RunnerApi.Components;
import org.apache.beam.model.pipeline.v1.RunnerApi.Environment;
import org.apache.beam.sdk.util.construction.External.ExpandableTransform;

/**
 * The files that workers need, such as bundles, from a service with TLS or a token.
 *
 * <p>For Beam 2.65, whose {@code External} fetches them over its own connection, with neither. So
 * this class fetches them, removes them from the answer that {@code External} gets, and adds them
 * to the transform afterwards.
 */
final class SecuredArtifacts {

  private static final String FILE = "beam:artifact:type:file:v1";
  private static final String FIELD = "expandedComponents";
  private static final String SERVICE =
      "org.apache.beam.model.job_management.v1.ArtifactRetrievalService/";
  private static final String RESOLVE = SERVICE + "ResolveArtifacts";
  private static final String GET = SERVICE + "GetArtifact";
  private static final Duration RESOLVING = Duration.ofSeconds(60);

  /** By reflection, because the type of the bytes differs between versions of Beam. */
  private static final Method DATA = data();

  private final Map<String, Environment> environments = new HashMap<>();

  /** Fetches the files that an answer names; returns the answer without them. */
  ExpansionResponse fetch(GrpcChannel service, Components known, ExpansionResponse response) {
    Components.Builder components = response.getComponents().toBuilder();
    response
        .getComponents()
        .getEnvironmentsMap()
        .forEach(
            (id, environment) -> {
              if (environment.getDependenciesCount() > 0 && !known.containsEnvironments(id)) {
                environments.put(id, fetched(service, environment));
                components.putEnvironments(id, environment.toBuilder().clearDependencies().build());
              }
            });
    return response.toBuilder().setComponents(components).build();
  }

  /** Returns an environment with its files. */
  Environment environment(String id) {
    return environments.get(id);
  }

  private static Method data() {
    try {
      return GetArtifactResponse.class.getMethod("getData");
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException("this version of Beam is not supported", e);
    }
  }

  private static Environment fetched(GrpcChannel service, Environment environment) {
    ResolveArtifactsRequest request =
        ResolveArtifactsRequest.newBuilder()
            .addAllArtifacts(environment.getDependenciesList())
            .build();
    Environment.Builder resolved = environment.toBuilder().clearDependencies();
    try {
      byte[] answer = service.ask(RESOLVE, request.toByteArray(), RESOLVING);
      for (ArtifactInformation artifact :
          ResolveArtifactsResponse.parseFrom(answer).getReplacementsList()) {
        byte[] file =
            ArtifactFilePayload.newBuilder()
                .setPath(fetched(service, artifact).toString())
                .build()
                .toByteArray();
        resolved.addDependencies(
            ArtifactInformation.parseFrom(
                new ProtoWriter()
                    .message(artifact.toByteArray())
                    .string(ArtifactInformation.TYPE_URN_FIELD_NUMBER, FILE)
                    .bytes(ArtifactInformation.TYPE_PAYLOAD_FIELD_NUMBER, file)
                    .written()));
      }
    } catch (IOException e) {
      throw new EnsembleException("the service names the files of the ensemble in no known way", e);
    }
    return resolved.build();
  }

  /** Writes an artifact to a file that only this user may read, deleted with the program. */
  private static Path fetched(GrpcChannel service, ArtifactInformation artifact) {
    byte[] request = GetArtifactRequest.newBuilder().setArtifact(artifact).build().toByteArray();
    try {
      Path path = Files.createTempFile("beam-ensembles-artifact", "");
      path.toFile().deleteOnExit();
      try (OutputStream file = Files.newOutputStream(path)) {
        service.stream(GET, request, part -> write(part, file));
      }
      return path;
    } catch (IOException | UncheckedIOException e) {
      throw new EnsembleException(
          "a file of the ensemble cannot be written to the folder for temporary files: "
              + e.getMessage(),
          e);
    }
  }

  private static void write(byte[] part, OutputStream file) {
    try {
      file.write(BeamGrpc.bytes(DATA.invoke(GetArtifactResponse.parseFrom(part))));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Puts the files into a transform that was applied. */
  void restore(ExpandableTransform<?, ?> transform) {
    if (environments.isEmpty()) {
      return;
    }
    try {
      Field field = ExpandableTransform.class.getDeclaredField(FIELD);
      field.setAccessible(true);
      Components components = (Components) field.get(transform);
      field.set(transform, components.toBuilder().putAllEnvironments(environments).build());
    } catch (ReflectiveOperationException | RuntimeException e) {
      throw new EnsembleException(
          "this version of Beam takes no bundle from a service with TLS or a token; use Beam 2.65,"
              + " or name the ensemble by a path that the workers can read",
          e);
    }
  }
}
