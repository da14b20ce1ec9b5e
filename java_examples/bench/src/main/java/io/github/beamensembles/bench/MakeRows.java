package io.github.beamensembles.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.apache.beam.sdk.schemas.Schema;
import org.apache.beam.sdk.transforms.DoFn;
import org.apache.beam.sdk.values.Row;

/** Makes as many rows as it is told of the values in a file. */
final class MakeRows extends DoFn<Long, Row> {

  private final String workload;
  private final String file;
  private transient Schema schema;
  private transient List<Object[]> values;

  MakeRows(String workload, String file) {
    this.workload = workload;
    this.file = file;
  }

  @Setup
  public void read() throws IOException {
    Workload of = Workload.of(workload);
    schema = of.schema();
    values = of.read(Path.of(file));
  }

  @ProcessElement
  public void process(@Element Long count, OutputReceiver<Row> output) {
    for (long id = 0; id < count; id++) {
      Object[] row = values.get((int) (id % values.size())).clone();
      row[0] = id;
      output.output(Row.withSchema(schema).attachValues(row));
    }
  }
}
