/** Pipelines that {@code make bench} measures; not part of the library. */
package io.github.beamensembles.bench;
