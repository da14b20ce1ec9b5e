package io.github.beamensembles;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.beam.model.expansion.v1.ExpansionApi.ExpansionResponse;
import org.apache.beam.model.jobmanagement.v1.ArtifactApi.GetArtifactRequest;
import org.apache.beam.model.jobmanagement.v1.ArtifactApi.GetArtifactResponse;
import org.apache.beam.model.jobmanagement.v1.ArtifactApi.ResolveArtifactsRequest;
import org.apache.beam.model.jobmanagement.v1.ArtifactRetrievalServiceGrpc;
import org.apache.beam.model.jobmanagement.v1.ArtifactRetrievalServiceGrpc.ArtifactRetrievalServiceBlockingStub;
import org.apache.beam.model.pipeline.v1.RunnerApi.ArtifactFilePayload;
import org.apache.beam.model.pipeline.v1.RunnerApi.ArtifactInformation;
import org.apache.beam.model.pipeline.v1.RunnerApi.Components;
import org.apache.beam.model.pipeline.v1.RunnerApi.Environment;
import org.apache.beam.sdk.util.construction.External.ExpandableTransform;
import org.apache.beam.vendor.grpc.v1p69p0.io.grpc.Channel;

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

  private final Map<String, Environment> environments = new HashMap<>();

  /** Fetches the files that an answer names; returns the answer without them. */
  ExpansionResponse fetch(Channel channel, Components known, ExpansionResponse response) {
    ArtifactRetrievalServiceBlockingStub service =
        ArtifactRetrievalServiceGrpc.newBlockingStub(channel);
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

  private static Environment fetched(
      ArtifactRetrievalServiceBlockingStub service, Environment environment) {
    ResolveArtifactsRequest request =
        ResolveArtifactsRequest.newBuilder()
            .addAllArtifacts(environment.getDependenciesList())
            .build();
    Environment.Builder resolved = environment.toBuilder().clearDependencies();
    for (ArtifactInformation artifact : service.resolveArtifacts(request).getReplacementsList()) {
      ArtifactFilePayload file =
          ArtifactFilePayload.newBuilder().setPath(fetched(service, artifact).toString()).build();
      resolved.addDependencies(
          artifact.toBuilder().setTypeUrn(FILE).setTypePayload(file.toByteString()));
    }
    return resolved.build();
  }

  /** Writes an artifact to a file that only this user may read, deleted with the program. */
  private static Path fetched(
      ArtifactRetrievalServiceBlockingStub service, ArtifactInformation artifact) {
    Iterator<GetArtifactResponse> parts =
        service.getArtifact(GetArtifactRequest.newBuilder().setArtifact(artifact).build());
    try {
      Path path = Files.createTempFile("beam-ensembles-artifact", "");
      path.toFile().deleteOnExit();
      try (OutputStream file = Files.newOutputStream(path)) {
        while (parts.hasNext()) {
          parts.next().getData().writeTo(file);
        }
      }
      return path;
    } catch (IOException e) {
      throw new EnsembleException(
          "a file of the ensemble cannot be written to the folder for temporary files: "
              + e.getMessage(),
          e);
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
