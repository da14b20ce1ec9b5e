/** A model handler of one's own, and two ensembles with a join between them, called from Java. */
package io.github.beamensembles.examples.ownhandler;
