package flowers

import io.github.beamensembles.RunEnsemble
import io.github.beamensembles.testing.FakeEnsemble
import io.github.beamensembles.testing.RowFailure
import org.apache.beam.sdk.Pipeline
import org.apache.beam.sdk.coders.StringUtf8Coder
import org.apache.beam.sdk.io.TextIO
import org.apache.beam.sdk.options.PipelineOptionsFactory
import org.apache.beam.sdk.schemas.JavaFieldSchema
import org.apache.beam.sdk.schemas.Schema
import org.apache.beam.sdk.schemas.Schema.FieldType
import org.apache.beam.sdk.schemas.annotations.DefaultSchema
import org.apache.beam.sdk.transforms.Create
import org.apache.beam.sdk.transforms.MapElements
import org.apache.beam.sdk.transforms.SerializableFunction
import org.apache.beam.sdk.values.PCollection
import org.apache.beam.sdk.values.Row
import org.apache.beam.sdk.values.TypeDescriptors

@DefaultSchema(JavaFieldSchema::class)
class Scored {
  @JvmField var id: Long = 0
  @JvmField var species: String = ""
}

val FLOWER: Schema =
  Schema.builder().addInt64Field("id").addArrayField("petals", FieldType.DOUBLE).build()
val SPECIES: Schema = Schema.builder().addStringField("species").build()

fun <T> lines(of: PCollection<T>, name: String, line: SerializableFunction<T, String>) =
  of.apply("Lines $name", MapElements.into(TypeDescriptors.strings()).via(line))
    .setCoder(StringUtf8Coder.of())
    .apply("Write $name", TextIO.write().to(name).withoutSharding())

fun flower(id: Long, vararg petals: Double): Row =
  Row.withSchema(FLOWER).addValue(id).addArray<Double>(petals.toList()).build()

fun main() {
  val options = PipelineOptionsFactory.create()
  FakeEnsemble.of(FLOWER, SPECIES)
    .withFailure(flower(2, 6.3), RowFailure("vote", "model_error", "no"))
    .withAnswers { Row.withSchema(SPECIES).addValue("setosa").build() }
    .replace("flowers", options)
  val pipeline = Pipeline.create(options)
  val rows = pipeline.apply(Create.of(flower(1, 5.1), flower(2, 6.3)).withRowSchema(FLOWER))
  val flowers = RunEnsemble.fromText("ensemble: flowers", null).withPassThrough("id")

  val both = rows.apply(flowers.withErrors())
  lines(both.get(RunEnsemble.OUTPUT), "output.txt") { "${it.getInt64("id")} ${it.getString("species")}" }
  lines(both.get(RunEnsemble.ERRORS), "errors.txt") { it.getString("code")!! }
  val objects = rows.apply("Objects", flowers.withErrors().`as`(Scored::class.java)).output()
  lines(objects, "objects.txt") { "${it.id} ${it.species}" }
  pipeline.run().waitUntilFinish()
}
