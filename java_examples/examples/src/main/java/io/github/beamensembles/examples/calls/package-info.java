/** Speech, then language: recordings to text, to intent and sentiment, called from Java. */
package io.github.beamensembles.examples.calls;
