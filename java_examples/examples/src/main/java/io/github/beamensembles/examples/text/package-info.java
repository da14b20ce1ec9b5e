/** Texts that get a category, a mood, a summary, a translation and keywords, called from Java. */
package io.github.beamensembles.examples.text;
