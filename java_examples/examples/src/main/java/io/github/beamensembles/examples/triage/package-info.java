/**
 * Support tickets: a small classifier, and a language model where that is unsure, called from Java.
 */
package io.github.beamensembles.examples.triage;
