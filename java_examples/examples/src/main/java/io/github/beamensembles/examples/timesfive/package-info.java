/** The five times table, learned: over a file and over a stream, called from Java. */
package io.github.beamensembles.examples.timesfive;
