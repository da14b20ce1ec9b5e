/**
 * Tests of pipelines without Python: {@link io.github.beamensembles.testing.FakeEnsemble} answers
 * in the place of models.
 */
@NullMarked
package io.github.beamensembles.testing;

import org.jspecify.annotations.NullMarked;
