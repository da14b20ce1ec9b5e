// Package ensembletest tests pipelines that call ensembles.
//
// [Fake] answers in the place of an expansion service and its models, in the
// test's own process: no Python is needed. What the test passes to its pipeline
// is an address, as of any service:
//
//	func TestMain(m *testing.M) { ptest.Main(m) }
//
//	func TestScore(t *testing.T) {
//		fake := ensembletest.Fake(t, ensembletest.Func(func(f Flower) (Answer, error) {
//			if f.Petals[2] < 2 {
//				return Answer{Species: "setosa", Confidence: 0.9}, nil
//			}
//			return Answer{Species: "virginica", Confidence: 0.8}, nil
//		}))
//		pipeline, s, flowers := ptest.CreateList([]Flower{{1, []float64{5.1, 3.5, 1.4, 0.2}}})
//		scored := ensemble.Run[Scored](s, flowers, ensemble.FromFile("flowers.yaml"),
//			ensemble.WithExpansionAddr(fake.Addr()))
//		passert.Equals(s, scored, Scored{1, "setosa", 0.9})
//		ptest.RunAndValidate(t, pipeline)
//	}
//
// The call is checked as a service checks it: parameters, names and types of
// columns, fields of scored rows. What a function's types say is checked
// against the rows; [Answers.WithPlan] checks both against the ensemble file.
//
// [Service] starts the real service, once for all tests of a package.
package ensembletest
