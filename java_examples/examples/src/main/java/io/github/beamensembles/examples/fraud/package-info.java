/**
 * Two models, a database, a meta-model and an expensive model where it is unsure, called from Java.
 */
package io.github.beamensembles.examples.fraud;
