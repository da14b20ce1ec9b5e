/**
 * Captions of images, answers to questions about them, and texts that fit them, called from Java.
 */
package io.github.beamensembles.examples.captions;
