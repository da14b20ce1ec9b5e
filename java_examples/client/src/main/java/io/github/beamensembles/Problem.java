package io.github.beamensembles;

import java.io.Serializable;

/**
 * One thing that is wrong with an ensemble, its configuration or its input.
 *
 * @param code stable name of the kind of mistake, such as {@code unknown_column}
 * @param path where: {@code nodes.vote.inputs[1]} in the ensemble file, {@code $} for the file as a
 *     whole, {@code input.pixels} for a field of the incoming rows, or the option's name
 * @param message what was found, what is allowed, what is nearest
 */
public record Problem(String code, String path, String message) implements Serializable {

  @Override
  public String toString() {
    return "[" + code + "] " + path + ": " + message;
  }
}
