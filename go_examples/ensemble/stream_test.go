package ensemble_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/teststream"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
)

const (
	pauseBetweenNumbers = 50 * time.Millisecond
	patience            = 5 * time.Minute
)

// number is a row of a stream.
type number struct {
	X float64 `beam:"x"`
}

// product has what both stages made of a number, each by a model of its own.
type product struct {
	X          float64 `beam:"x"`
	One        float64 `beam:"one"`
	Two        float64 `beam:"two"`
	Provenance origin  `beam:"provenance"`
}

// deepNumber has what the node gave whose rows wait for others.
type deepNumber struct {
	X    float64  `beam:"x"`
	Deep *float64 `beam:"deep"`
}

func init() {
	beam.RegisterDoFn(reflect.TypeFor[countFn]())
	register.Emitter1[number]()
	register.Function1x1(xOf)
	register.Function3x1(windowOf)
	register.Iter1[float64]()
	for _, t := range []reflect.Type{
		reflect.TypeFor[number](), reflect.TypeFor[product](), reflect.TypeFor[deepNumber](),
	} {
		beam.RegisterType(t)
	}
}

// version says which models scored a row.
type version struct {
	digest   string
	one, two int
}

// streams are the streams of numbers that were told to end.
var streams sync.Map

// countFn gives the whole numbers from 1 on, until the stream of its name is
// told to end.
type countFn struct{ Name string }

func (*countFn) CreateInitialRestriction([]byte) offsetrange.Restriction {
	return offsetrange.Restriction{Start: 1, End: math.MaxInt64}
}

func (*countFn) SplitRestriction(_ []byte, rest offsetrange.Restriction) []offsetrange.Restriction {
	return []offsetrange.Restriction{rest}
}

func (*countFn) RestrictionSize([]byte, offsetrange.Restriction) float64 { return 1 }

func (*countFn) CreateTracker(rest offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(rest))
}

func (f *countFn) ProcessElement(rt *sdf.LockRTracker, _ []byte, emit func(number)) sdf.ProcessContinuation {
	rest := rt.GetRestriction().(offsetrange.Restriction)
	if _, ended := streams.Load(f.Name); ended {
		rt.TryClaim(rest.End)
		return sdf.StopProcessing()
	}
	if !rt.TryClaim(rest.Start) {
		return sdf.StopProcessing()
	}
	emit(number{float64(rest.Start)})
	return sdf.ResumeProcessingIn(pauseBetweenNumbers)
}

// streamFolder copies the files of the streams into a folder of this test.
func streamFolder(t *testing.T) string {
	t.Helper()
	needServers(t)
	given := os.Getenv(frameworksVariable)
	if given == "" {
		t.Skip(frameworksVariable + " is not set: it comes with make test-integration")
	}
	folder, err := os.MkdirTemp(given, "stream") // The service trusts what is in there.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(given, "streams"))); err != nil {
		t.Fatal(err)
	}
	return folder
}

// publish puts a whole file where another may be, as those do who publish
// models.
func publish(folder, from, to string) error {
	data, err := os.ReadFile(filepath.Join(folder, from))
	if err != nil {
		return err
	}
	fresh := filepath.Join(folder, to+".new")
	if err := os.WriteFile(fresh, data, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(folder, to))
}

func TestIntegrationGoesOnWithNewModels(t *testing.T) {
	folder := streamFolder(t)
	for _, name := range []string{"first.joblib", "second.joblib"} {
		if err := publish(folder, "line_1.joblib", name); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "times.yaml")
	changed := make(chan error, 1)
	go func() {
		defer streams.Store(t.Name(), true)
		changed <- change(folder)
	}()
	err := runPipeline(t, func(s beam.Scope) {
		numbers := beam.ParDo(s, &countFn{t.Name()}, beam.Impulse(s))
		collect(s, "by text", ensemble.Run[product](s, numbers, ensemble.FromFile(file),
			ensemble.WithProvenance(), ensemble.WithRefreshInterval(time.Second), ensemble.WithEncoding(ensemble.EncodingArrow)))
		collect(s, "by place", ensemble.Run[product](s, numbers, ensemble.FromURI(file),
			ensemble.WithProvenance(), ensemble.WithRefreshInterval(time.Second), ensemble.WithEncoding(ensemble.EncodingRows)))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	t.Run("models only where the text was sent", func(t *testing.T) {
		checkVersions(t, "by text", [][2]int{{1, 1}, {2, 1}})
	})
	t.Run("models and file where it was named", func(t *testing.T) {
		checkVersions(t, "by place", [][2]int{{1, 1}, {2, 1}, {3, 3}})
	})
}

// change puts a new model, then a new file where the old ones are, each after
// rows have been scored by what was there before.
func change(folder string) error {
	if err := waitFor(1, 1, "by text", "by place"); err != nil {
		return err
	}
	if err := publish(folder, "line_2.joblib", "first.joblib"); err != nil {
		return err
	}
	if err := waitFor(2, 1, "by text", "by place"); err != nil {
		return err
	}
	if err := publish(folder, "times_3.yaml", "times.yaml"); err != nil {
		return err
	}
	return waitFor(3, 3, "by place")
}

// TestIntegrationRefusesModelsThatTheLockDoesNotAllow changes models, then
// models and lock, of a file that asks for a gate.
func TestIntegrationRefusesModelsThatTheLockDoesNotAllow(t *testing.T) {
	folder := streamFolder(t)
	for _, name := range []string{"first.joblib", "second.joblib"} {
		if err := publish(folder, "line_1.joblib", name); err != nil {
			t.Fatal(err)
		}
	}
	changed := make(chan error, 1)
	go func() {
		defer streams.Store(t.Name(), true)
		changed <- changeBehindGate(folder)
	}()
	result, err := runPipelineForResult(t, func(s beam.Scope) {
		numbers := beam.ParDo(s, &countFn{t.Name()}, beam.Impulse(s))
		collect(s, "gated", ensemble.Run[product](s, numbers, ensemble.FromURI(filepath.Join(folder, "gated.yaml")),
			ensemble.WithProvenance(), ensemble.WithRefreshInterval(time.Second)))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	checkVersions(t, "gated", [][2]int{{1, 1}, {3, 3}})
	found := ensemble.Metrics(result)[0]
	if found.Refreshes < 1 || found.RefusedRefreshesByGate < 1 ||
		found.RefusedRefreshes < found.RefusedRefreshesByGate {
		t.Errorf("counts %v", found)
	}
}

// changeBehindGate puts a model in place that the lock does not allow, then
// the lock of others, and those.
func changeBehindGate(folder string) error {
	if err := waitFor(1, 1, "gated"); err != nil {
		return err
	}
	if err := publish(folder, "line_2.joblib", "first.joblib"); err != nil {
		return err
	}
	refused := scoredBy("gated", 1, 1) + 200 // Ten seconds, in which the worker looks often.
	for end := time.Now().Add(patience); scoredBy("gated", 1, 1) < refused; time.Sleep(pauseBetweenNumbers) {
		if time.Now().After(end) {
			return fmt.Errorf("the old models do not go on: %v", versions("gated"))
		}
	}
	for _, names := range [][2]string{
		{"gated_3.lock.parquet", "gated.lock.parquet"}, {"gated_3.lock.yaml", "gated.lock.yaml"},
		{"line_3.joblib", "first.joblib"}, {"line_3.joblib", "second.joblib"},
	} {
		if err := publish(folder, names[0], names[1]); err != nil {
			return err
		}
	}
	return waitFor(3, 3, "gated")
}

// waitFor waits until five rows of each collection were scored by models that
// multiply by these numbers.
func waitFor(one, two int, names ...string) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(pauseBetweenNumbers) {
		if !slices.ContainsFunc(names, func(name string) bool { return scoredBy(name, one, two) < 5 }) {
			return nil
		}
	}
	return fmt.Errorf("no rows are multiplied by %d and %d in %v", one, two, patience)
}

func scoredBy(name string, one, two int) (count int) {
	for found, rows := range versions(name) {
		if found.one == one && found.two == two {
			count += rows
		}
	}
	return count
}

// versions counts the rows of each version.
func versions(name string) map[version]int {
	found := map[version]int{}
	for _, row := range collected(name) {
		product := row.value.(product)
		found[version{
			product.Provenance.Digest,
			int(math.Round(product.One / product.X)), int(math.Round(product.Two / product.X)),
		}]++
	}
	return found
}

// checkVersions makes sure that each number came out once, and that the
// versions are those with these models, each with a digest of its own: a row
// that the stages scored by two of them would be a version more.
func checkVersions(t *testing.T, name string, want [][2]int) {
	t.Helper()
	rows := collected(name)
	numbers := make([]float64, len(rows))
	for i, row := range rows {
		numbers[i] = row.value.(product).X
	}
	slices.Sort(numbers)
	for i, number := range numbers {
		if number != float64(i+1) {
			t.Fatalf("the numbers are not 1 to %d, each once: %v", len(numbers), numbers)
		}
	}
	found := slices.SortedFunc(maps.Keys(versions(name)), func(a, b version) int { return a.one - b.one })
	digests := map[string]bool{}
	for i, one := range found {
		digests[one.digest] = true
		if i >= len(want) || want[i] != [2]int{one.one, one.two} ||
			!regexp.MustCompile("^[0-9a-f]{16}$").MatchString(one.digest) {
			t.Errorf("rows are scored by %v, not by %v", found, want)
		}
	}
	if len(found) != len(want) || len(digests) != len(want) {
		t.Errorf("rows are scored by %v, not by %v", found, want)
	}
}

// TestIntegrationLetsRowsWait sends each row in a bundle of its own, the
// watermark right behind it: whoever lets it go on loses rows that wait.
func TestIntegrationLetsRowsWait(t *testing.T) {
	folder := streamFolder(t)
	encodings := []ensemble.Encoding{ensemble.EncodingRows, ensemble.EncodingArrow}
	stream := teststream.NewConfig()
	for x := range 10 {
		if err := stream.AddElements(int64(x)*1000, number{float64(x)}); err != nil {
			t.Fatal(err)
		}
		if err := stream.AdvanceWatermark(int64(x) * 1000); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.AdvanceWatermarkToInfinity(); err != nil {
		t.Fatal(err)
	}
	forget()
	result, err := execute(t, "LOOPBACK", "", func(s beam.Scope) {
		numbers := teststream.Create(s, stream)
		for _, encoding := range encodings {
			scored := ensemble.Run[deepNumber](s, numbers, ensemble.FromFile(filepath.Join(folder, "waits.yaml")),
				ensemble.WithEncoding(encoding))
			collect(s, "waited "+string(encoding), scored)
			windowed := beam.WindowInto(s, window.NewFixedWindows(2*time.Second), beam.ParDo(s, xOf, scored))
			groups := beam.GroupByKey(s, beam.AddFixedKey(s, windowed)) // It drops what comes late.
			collect(s, "groups "+string(encoding), beam.ParDo(s, windowOf, groups))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, encoding := range encodings {
		t.Run(string(encoding), func(t *testing.T) { checkWaited(t, encoding) })
	}
	t.Run("batches of several bundles", func(t *testing.T) { checkBatches(t, result, len(encodings)) })
}

// checkBatches makes sure that ten rows ran in batches of four, four and two,
// once for each call.
func checkBatches(t *testing.T, result beam.PipelineResult, calls int) {
	var rows, batches, largest int64
	for _, one := range result.Metrics().AllMetrics().Distributions() {
		if one.Key.Namespace == "waits/deep" && one.Key.Name == "inference_request_batch_size" {
			rows, batches = rows+one.Result().Sum, batches+one.Result().Count
			largest = max(largest, one.Result().Max)
		}
	}
	if rows != int64(10*calls) || batches != int64(3*calls) || largest != 4 {
		t.Errorf("runs %d rows in %d batches of up to %d, not %d in %d of up to 4",
			rows, batches, largest, 10*calls, 3*calls)
	}
}

func xOf(row deepNumber) float64 { return row.X }

func windowOf(w beam.Window, _ int, values func(*float64) bool) string {
	var all []float64
	for x := 0.0; values(&x); {
		all = append(all, x)
	}
	slices.Sort(all)
	return fmt.Sprintf("%v to %v", all, w.MaxTimestamp())
}

func checkWaited(t *testing.T, encoding ensemble.Encoding) {
	rows := collected("waited " + string(encoding))
	if len(rows) != 10 {
		t.Errorf("gives %d rows, not 10", len(rows))
	}
	for _, one := range rows {
		row := one.value.(deepNumber)
		if row.Deep == nil || math.Abs(*row.Deep-row.X) > 1e-9 || one.time != mtime.Time(row.X*1000) {
			t.Errorf("gives %+v at %v", row, one.time)
		}
	}
	var found, want []string
	for _, one := range collected("groups " + string(encoding)) {
		found = append(found, one.value.(string))
	}
	for x := 0; x < 10; x += 2 {
		want = append(want, fmt.Sprintf("[%d %d] to %v", x, x+1, mtime.Time(x*1000+1999)))
	}
	slices.Sort(found)
	if !slices.Equal(found, want) {
		t.Errorf("gives the windows %q, not %q", found, want)
	}
}
