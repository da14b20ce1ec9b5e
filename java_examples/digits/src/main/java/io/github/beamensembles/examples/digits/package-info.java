/** Handwritten digits: three Python models vote, called from Java. */
package io.github.beamensembles.examples.digits;
