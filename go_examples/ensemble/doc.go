// Package ensemble scores the rows of a Beam pipeline with an ensemble of models.
//
// An ensemble is a file that names models and says how their answers combine.
// Rows go in, and come out with the answers added. A program has five parts:
//
//	// 1. The row: its fields are the columns that the file's inputs name.
//	type Flower struct {
//		ID     int64     `beam:"id"`
//		Petals []float64 `beam:"petals"`
//	}
//
//	// 2. The scored row: any fields of the row, and any columns that the file adds.
//	type Scored struct {
//		ID         int64   `beam:"id"`
//		Species    string  `beam:"species"`
//		Confidence float64 `beam:"confidence"`
//	}
//
//	// 3. Registration, so that workers know the types.
//	func init() {
//		beam.RegisterType(reflect.TypeFor[Flower]())
//		beam.RegisterType(reflect.TypeFor[Scored]())
//		beam.RegisterType(reflect.TypeFor[ensemble.Failed[Flower]]())
//		register.Function1x0(show)
//	}
//
//	func show(s Scored) { fmt.Println(s.ID, s.Species, s.Confidence) }
//
//	func main() {
//		flag.Parse()
//		beam.Init()
//		pipeline, s := beam.NewPipelineWithRoot()
//		flowers := beam.Create(s, Flower{1, []float64{5.1, 3.5, 1.4, 0.2}})
//
//		// 4. The call. It checks the file, the models and the types of the rows.
//		scored, failed, err := ensemble.TryRunWithErrors[Scored](s, flowers, ensemble.FromFile("flowers.yaml"))
//		if err != nil {
//			panic(err) // *ensemble.Error: every problem, with its place in the file
//		}
//
//		// 5. The rest of the pipeline: rows that could not be scored come out beside the others.
//		beam.ParDo0(s, show, scored)
//		debug.Printf(s, "failed: %v", failed)
//		if err := beamx.Run(context.Background(), pipeline); err != nil {
//			panic(err)
//		}
//	}
//
// The call asks an expansion service, which runs the models in Python. Without
// [WithExpansionAddr] or the environment variable BEAM_ENSEMBLES_ADDR it starts
// one, which takes a Python with beam-ensembles: see [StartService].
//
// From here: [Run] has the types of fields, [Encoding] how rows travel, [Error]
// what can go wrong, [WithProvenance] and [WithRefreshInterval] versions of
// models, [Metrics] what the models have counted, [TLS] services of other
// machines, package ensembletest tests without Python. The options are the functions whose names begin with With.
package ensemble
