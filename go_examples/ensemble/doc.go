// Package ensemble runs ensembles of models over the rows of a Beam pipeline.
//
// An ensemble is a file that says which models there are and how their answers
// combine. Rows go in, and come out with the answers added:
//
//	type Image struct {
//		ID     int64     `beam:"id"`
//		Pixels []float64 `beam:"pixels"`
//	}
//
//	type Scored struct {
//		ID         int64   `beam:"id"`
//		Label      string  `beam:"label"`
//		Confidence float64 `beam:"confidence"`
//	}
//
//	scored := ensemble.Run[Scored](s, images, ensemble.FromFile("digits.yaml"))
//
// Rows that cannot be scored fail the pipeline, or come out beside the others:
//
//	scored, failed := ensemble.RunWithErrors[Scored](s, images, ensemble.FromFile("digits.yaml"))
//
// where failed is a PCollection<ensemble.Failed[Image]>. Run and RunWithErrors
// panic when the ensemble is wrong; TryRun and TryRunWithErrors give an *Error
// that lists every Problem with its place in the file.
//
// # Rows
//
// Any struct is a row; its exported fields are the columns, under the name of
// their beam tag or their own. The fields of the scored struct are any of the
// row's fields and of the added columns, in any order. Event times and windows
// stay as they are. Keyed rows, PCollection<KV<K, Image>>, come out keyed:
// PCollection<KV<K, Scored>>. As always in Beam, types are registered with
// beam.RegisterType, or by registering the DoFns that use them.
//
// # Types
//
//	Go                                     Ensemble file
//	-------------------------------------  ---------------------------
//	string                                 string
//	[]byte                                 bytes
//	bool                                   boolean
//	int32, and in rows int8 int16 uint16   int32
//	int64, int, and in rows uint32         int64
//	float32                                float
//	float64                                double
//	[]T, [N]T                              array<T>
//	map[K]V                                map<K,V>
//	struct                                 row<name: type, ...>
//	*T                                     T?, an optional value
//
// A column that may be null, such as those of a node with when or on_error:
// nullify, needs a pointer (*float64), or a slice, which is nil then. A row in
// a row, as in lists that rank makes, is a struct with the row's fields. So is
// an embedded struct: its fields are not the row's own.
//
// A field [N]T of a scored row takes lists of N items: a list of another
// length fails the pipeline, so that a column of any length is a []T.
//
// A tensor such as array<double>[8,8] is a flat []float64, row by row. A nil
// slice or map is null; one that the ensemble reads fails its row.
//
// A field of any other type (uint, uint64, uint8, time.Time and other logical
// types of Beam, structs with unexported fields) passes through untouched, in
// Beam's own coder for Go, to the field of the same name and type of the
// scored struct; an ensemble that reads it is refused. Unexported fields are
// lost, as they are wherever Beam encodes a struct.
//
// # Provenance and new models
//
// WithProvenance adds a column that says which version of the ensemble, which
// arms and which ignored errors a row's answers come from:
//
//	type Provenance struct {
//		Ensemble      string            `beam:"ensemble"`
//		Digest        string            `beam:"digest"`
//		Route         map[string]string `beam:"route"`
//		ErrorsIgnored []string          `beam:"errors_ignored"`
//	}
//
//	type Scored struct {
//		Label      string     `beam:"label"`
//		Provenance Provenance `beam:"provenance"`
//	}
//
// WithRefreshInterval has workers take new models while the pipeline runs; the
// digest changes with them. A new ensemble file is taken with FromURI, which
// names it by its place; FromFile sends its text once, and its models only are
// watched.
//
// # Encoding
//
// Rows travel to the service's transform and back in Arrow record batches of
// up to 16384 rows or 4 MiB, which is many times faster than one by one in
// Beam's row coder. That needs the global window and types that are registered;
// elsewhere rows travel one by one, and the log says so once. To a service
// older than this they travel with WithEncoding(EncodingRows) only. A batch waits for
// no more rows than its bundle has.
//
// Slices of numbers and bytes in a scored row lie in the memory of its batch:
// who keeps a few rows for long copies them.
//
// # Metrics
//
// Metrics gives what the nodes of a finished pipeline have counted: rows
// answered, failed and skipped, batches and their times, arms of routes, and on
// how many rows shadows agree. Each EnsembleMetrics prints as a table.
//
// # Service
//
// The work is done by the expansion service of beam-ensembles: that at
// WithExpansionAddr, or at the environment variable BEAM_ENSEMBLES_ADDR, or
// one that this package starts and that stops with the program. It needs a
// Python with beam-ensembles: that at the environment variable
// BEAM_ENSEMBLES_PYTHON, the command beam-ensembles, or python3.
//
// # TLS and tokens
//
// Use WithTLS and WithTokenFile to call a service on another machine:
//
//	ensemble.Run[Scored](s, images, ensemble.FromFile("digits.yaml"),
//		ensemble.WithExpansionAddr("models.example.com:8097"),
//		ensemble.WithTLS(ensemble.TLS{CA: "ca.pem"}),
//		ensemble.WithTokenFile("token"))
//
// An environment variable holds each setting that no option sets:
//
//	Option                 Environment variable       Value
//	---------------------  -------------------------  ------------------------------
//	WithTLS(TLS{CA: ...})  BEAM_ENSEMBLES_TLS_CA      PEM file, or "system"
//	WithTLS(TLS{Cert: ..}) BEAM_ENSEMBLES_TLS_CERT    PEM file, for mutual TLS
//	WithTLS(TLS{Key: ...}) BEAM_ENSEMBLES_TLS_KEY     PEM file, not encrypted
//	WithTokenFile          BEAM_ENSEMBLES_TOKEN_FILE  file that holds the token
//
// The package reads the files for each request, so new ones need no restart. It
// sends a token only over TLS or to a loopback address, and fetches bundles with
// the same TLS and token. A service that the package starts itself uses neither,
// and ignores the environment variables.
package ensemble
