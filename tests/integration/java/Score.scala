import io.github.beamensembles.RunEnsemble
import io.github.beamensembles.testing.{FakeEnsemble, RowFailure}
import org.apache.beam.sdk.Pipeline
import org.apache.beam.sdk.io.TextIO
import org.apache.beam.sdk.options.PipelineOptionsFactory
import org.apache.beam.sdk.schemas.JavaFieldSchema
import org.apache.beam.sdk.schemas.Schema
import org.apache.beam.sdk.schemas.Schema.FieldType
import org.apache.beam.sdk.schemas.annotations.DefaultSchema
import org.apache.beam.sdk.transforms.{Create, MapElements, PTransform, SerializableFunction}
import org.apache.beam.sdk.values.{PCollection, Row, TypeDescriptors}

object Score {
  val Flower: Schema =
    Schema.builder().addInt64Field("id").addArrayField("petals", FieldType.DOUBLE).build()
  val Species: Schema = Schema.builder().addStringField("species").build()

  /** Has the signature of the method of Scio's SCollection by which it takes transforms of Java. */
  def applyTransform[T, U](rows: PCollection[T], name: String)(
      transform: PTransform[_ >: PCollection[T], PCollection[U]]
  ): PCollection[U] = rows.apply(name, transform)

  def flower(id: Long, petal: Double): Row =
    Row.withSchema(Flower).addValue(id).addArray(java.util.List.of(Double.box(petal))).build()

  def write(of: PCollection[Row], name: String)(line: SerializableFunction[Row, String]): Unit = {
    val lines = applyTransform(of, s"Lines $name")(
      MapElements.into(TypeDescriptors.strings()).via[Row](line))
    lines.apply(s"Write $name", TextIO.write().to(name).withoutSharding())
    ()
  }

  def main(args: Array[String]): Unit = {
    val options = PipelineOptionsFactory.create()
    FakeEnsemble.of(Flower, Species)
      .withFailure(flower(2, 6.3), new RowFailure("vote", "model_error", "no"))
      .withAnswers((_: Row) => Row.withSchema(Species).addValue("setosa").build())
      .replace("flowers", options)
    val pipeline = Pipeline.create(options)
    val rows = pipeline.apply("One", Create.of(flower(1, 5.1)).withRowSchema(Flower))
    val two = pipeline.apply("Two", Create.of(flower(1, 5.1), flower(2, 6.3)).withRowSchema(Flower))
    val flowers = RunEnsemble.fromText("ensemble: flowers", null).withPassThrough("id")

    write(applyTransform(rows, "Score")(flowers), "objects.txt")(row =>
      s"${row.getInt64("id")} ${row.getString("species")}")
    val both = two.apply("Both", flowers.withErrors())
    write(both.get(RunEnsemble.OUTPUT), "output.txt")(row =>
      s"${row.getInt64("id")} ${row.getString("species")}")
    write(both.get(RunEnsemble.ERRORS), "errors.txt")(row => row.getString("code"))
    pipeline.run().waitUntilFinish()
    ()
  }
}
