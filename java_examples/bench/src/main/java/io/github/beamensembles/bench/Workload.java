package io.github.beamensembles.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.util.Text;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.schemas.Schema.FieldType;
import org.apache.beam.sdk.values.Row;

/**
 * Rows to score, and one number of a scored row.
 *
 * @param schema of the rows; the first field is the id
 * @param reader reads the values of all different rows from a file
 * @param answerer gives the number of a scored row by which ways to score are compared
 */
record Workload(Schema schema, Reader reader, ToDoubleFunction<Row> answerer) {

  /** Reads rows' values, with room for the id in front. */
  @FunctionalInterface
  interface Reader {
    List<Object[]> read(Path file) throws IOException;
  }

  private static final Workload LIGHT =
      new Workload(
          Schema.builder()
              .addInt64Field("id")
              .addDoubleField("a")
              .addDoubleField("b")
              .addDoubleField("c")
              .addDoubleField("d")
              .build(),
          file -> numbers(file, 4).stream().map(Workload::spread).toList(),
          scored -> second(scored.getArray("proba")));

  private static final Workload DIGITS =
      new Workload(
          Schema.builder().addInt64Field("id").addArrayField("pixels", FieldType.DOUBLE).build(),
          file -> numbers(file, 64).stream().map(pixels -> new Object[] {null, pixels}).toList(),
          scored -> scored.getDouble("confidence"));

  private static final Workload TEXT =
      new Workload(
          Schema.builder().addInt64Field("id").addStringField("text").build(),
          Workload::column,
          scored -> scored.getDouble("score"));

  private static final Workload IMAGE =
      new Workload(
          Schema.builder().addInt64Field("id").addByteArrayField("picture").build(),
          Workload::column,
          scored -> scored.getDouble("confidence"));

  static Workload of(String name) {
    return switch (name) {
      case "light" -> LIGHT;
      case "digits" -> DIGITS;
      case "text" -> TEXT;
      case "image" -> IMAGE;
      default -> throw new IllegalArgumentException("there is no workload '" + name + "'");
    };
  }

  List<Object[]> read(Path file) throws IOException {
    return reader.read(file);
  }

  double answer(Row scored) {
    return answerer.applyAsDouble(scored);
  }

  private static List<List<Double>> numbers(Path file, int width) throws IOException {
    DoubleBuffer all =
        ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer();
    List<List<Double>> rows = new ArrayList<>();
    while (all.hasRemaining()) {
      Double[] row = new Double[width];
      Arrays.setAll(row, unused -> all.get());
      rows.add(Arrays.asList(row));
    }
    return rows;
  }

  private static Object[] spread(List<Double> numbers) {
    Object[] row = new Object[1 + numbers.size()];
    for (int at = 0; at < numbers.size(); at++) {
      row[1 + at] = numbers.get(at);
    }
    return row;
  }

  /** Gives the values of the only column of an Arrow file of one record batch. */
  private static List<Object[]> column(Path file) throws IOException {
    try (BufferAllocator memory = new RootAllocator();
        SeekableByteChannel channel = Files.newByteChannel(file);
        ArrowFileReader reader = new ArrowFileReader(channel, memory)) {
      reader.loadNextBatch();
      FieldVector values = reader.getVectorSchemaRoot().getVector(0);
      List<Object[]> rows = new ArrayList<>();
      for (int at = 0; at < values.getValueCount(); at++) {
        Object value = values.getObject(at);
        rows.add(new Object[] {null, value instanceof Text text ? text.toString() : value});
      }
      return rows;
    }
  }

  private static double second(Collection<Double> probabilities) {
    Iterator<Double> each = probabilities.iterator();
    each.next();
    return each.next();
  }
}
