/** A champion and a challenger, each for its share of the users, called from Java. */
package io.github.beamensembles.examples.abtest;
