package runneropts_test

import (
	"fmt"

	"github.com/beam-ensembles/beam-ensembles/go_examples/ensemble/runneropts"
)

// A program with a fixed option adds it before it runs its pipeline. The flag
// --runner_option does the same.
func ExampleAdd() {
	fmt.Println(runneropts.Add("max_bundle_size=64"))
	fmt.Println(runneropts.Add("max_bundle_size"))
	// Output:
	// <nil>
	// give NAME=VALUE, as max_bundle_size=64
}
