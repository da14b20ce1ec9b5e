package ensemble

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/internal/fakes"
)

// askFake has a fake of package ensembletest score rows. The fields of the rows
// to keep are those that the caller names.
func (x *crossing) askFake(
	s beam.Scope, rows beam.PCollection, fake fakes.Service, c *config, kept []string,
) (scored, failed beam.PCollection, err error) {
	scored, failed, refused := fake.Expand(s, rows, fakes.Call{
		Ensemble: ensembleName(c), Spec: c.Spec,
		Parameters: c.Parameters, Columns: c.Columns, Prefix: c.Prefix, PassThrough: kept, Provenance: c.Provenance,
		Row: x.row.row, Scored: x.scored, Failed: x.failed, Opaque: x.opaque,
	})
	if refused != "" {
		problems := parseError(refused)
		x.row.explain(problems)
		return scored, failed, problems
	}
	return scored, failed, nil
}
