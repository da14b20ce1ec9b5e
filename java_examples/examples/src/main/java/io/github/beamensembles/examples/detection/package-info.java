/** Things in pictures, as lists of rows beside each picture, called from Java. */
package io.github.beamensembles.examples.detection;
