package main

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.DoFn3x1[*sdf.LockRTracker, part, func(part), sdf.ProcessContinuation](&bundles{})
	register.Emitter1[part]()
}

// bundles gives the rows of a part in pieces, each of which is a bundle of its
// own, as readers of files and queues do: after a piece it returns, and is
// called for the others. A restriction counts pieces.
type bundles struct {
	Rows int64
}

func (fn *bundles) CreateInitialRestriction(of part) offsetrange.Restriction {
	return offsetrange.Restriction{End: (of.End - of.First + fn.Rows - 1) / fn.Rows}
}

func (fn *bundles) SplitRestriction(_ part, pieces offsetrange.Restriction) []offsetrange.Restriction {
	return []offsetrange.Restriction{pieces}
}

func (fn *bundles) RestrictionSize(_ part, pieces offsetrange.Restriction) float64 {
	return pieces.Size() * float64(fn.Rows)
}

func (fn *bundles) CreateTracker(pieces offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(pieces))
}

func (fn *bundles) ProcessElement(rt *sdf.LockRTracker, of part, emit func(part)) sdf.ProcessContinuation {
	piece := rt.GetRestriction().(offsetrange.Restriction).Start
	if !rt.TryClaim(piece) {
		return sdf.StopProcessing()
	}
	first := of.First + piece*fn.Rows
	emit(part{first, min(first+fn.Rows, of.End)})
	return sdf.ResumeProcessingIn(0)
}
