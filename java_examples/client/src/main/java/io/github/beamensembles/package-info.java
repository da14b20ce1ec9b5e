/**
 * Calls an ensemble of Python models from a Java pipeline.
 *
 * <p>An ensemble file says which models there are and how their answers combine. {@link
 * io.github.beamensembles.RunEnsemble} sends rows to it through the beam-ensembles expansion
 * service: the same rows come back with the answers added.
 *
 * <pre>{@code
 * PCollection<Row> scored = rows.apply(RunEnsemble.fromFile("digits.yaml"));
 * }</pre>
 *
 * <p>The input is any collection with a schema: rows, POJOs, beans, AutoValues. These field types
 * can be read by models:
 *
 * <table>
 *   <caption>Types of the ensemble file and of Java</caption>
 *   <tr><th>ensemble file</th><th>Beam field type</th><th>Java</th></tr>
 *   <tr><td>{@code string}</td><td>STRING</td><td>String</td></tr>
 *   <tr><td>{@code bytes}</td><td>BYTES</td><td>byte[]</td></tr>
 *   <tr><td>{@code boolean}</td><td>BOOLEAN</td><td>boolean</td></tr>
 *   <tr><td>{@code int32}, {@code int64}</td><td>INT32, INT64</td><td>int, long</td></tr>
 *   <tr><td>{@code float}, {@code double}</td><td>FLOAT, DOUBLE</td><td>float, double</td></tr>
 *   <tr><td>{@code timestamp}</td><td>DATETIME, SqlTypes.TIMESTAMP, NanosInstant</td>
 *       <td>Instant</td></tr>
 *   <tr><td>{@code array<T>}, {@code array<T>[2,3]}</td><td>ARRAY</td><td>List (row-major)</td></tr>
 *   <tr><td>{@code map<K,V>}</td><td>MAP</td><td>Map</td></tr>
 *   <tr><td>{@code row<a: T>}</td><td>ROW</td><td>a type with a schema</td></tr>
 *   <tr><td>{@code T?}</td><td>nullable</td><td>a field marked {@code @Nullable}</td></tr>
 * </table>
 *
 * <p>BYTE and INT16 are read as wider integers, enums as their names, {@code VariableString},
 * {@code FixedString}, {@code VariableBytes} and {@code FixedBytes} as text and bytes. {@code
 * SqlTypes.DATE} is a timestamp: its midnight in UTC. So are {@code SqlTypes.DATETIME}, in UTC, and
 * {@code SqlTypes.TIME}, on 1970-01-01. All of them pass through as they are.
 *
 * <p>A timestamp is whole microseconds. A row with nanoseconds fails, unless the file says of the
 * input <code>{type: timestamp, nanoseconds: truncate}</code>. An added timestamp that its caller
 * takes as a DATETIME must be whole milliseconds, or its row fails.
 *
 * <p>A DECIMAL is read as a {@code string}; {@code CAST(price AS DOUBLE)} in an {@code apply: sql}
 * node makes a number of it.
 *
 * <p>Fields of any other type (iterables, other logical types) cross untouched, in Java's own
 * encoding; no model can read them.
 *
 * <p>Rows travel in {@link io.github.beamensembles.Encoding#ARROW packs} where Java lets Arrow use
 * memory of its own, which is said when a program and its workers are started:
 *
 * <pre>{@code
 * java --add-opens=java.base/java.nio=ALL-UNNAMED -cp ... your.Program
 * }</pre>
 *
 * <p>Otherwise they travel one by one, which is slower; the log says so. So do rows in windows that
 * merge. Events keep their times and windows either way.
 *
 * <p>Tests replace an ensemble with a {@link io.github.beamensembles.testing.FakeEnsemble}, which
 * needs no Python and runs on Beam's direct runner too.
 *
 * <p>A service on another machine is called with {@link
 * io.github.beamensembles.RunEnsemble#withTls(String) TLS} and a {@link
 * io.github.beamensembles.RunEnsemble#withTokenFile token}. The environment variables {@code
 * BEAM_ENSEMBLES_TLS_CA}, {@code BEAM_ENSEMBLES_TLS_CERT}, {@code BEAM_ENSEMBLES_TLS_KEY} and
 * {@code BEAM_ENSEMBLES_TOKEN_FILE} hold the files that no method sets.
 */
@NullMarked
package io.github.beamensembles;

import org.jspecify.annotations.NullMarked;
