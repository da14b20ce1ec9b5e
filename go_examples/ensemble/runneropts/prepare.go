package runneropts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
)

// handOver has the SDK call the job service by connections that add the
// options. grpcx.Dial is the SDK's own place for connections of another kind.
func handOver() {
	before := grpcx.Dial
	grpcx.Dial = func(ctx context.Context, endpoint string, timeout time.Duration) (*grpc.ClientConn, error) {
		conn, err := before(ctx, endpoint, timeout) // returns when the server answers
		if err != nil || endpoint != *jobopts.Endpoint {
			return conn, err
		}
		if err := conn.Close(); err != nil {
			return nil, err
		}
		return grpc.NewClient("passthrough:///"+endpoint,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
			grpc.WithUnaryInterceptor(addToPrepare))
	}
}

// addToPrepare adds the options to a call of Prepare; other calls pass as they
// are.
func addToPrepare(
	ctx context.Context, method string, request, reply any,
	conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	if job, ok := request.(*jobpb.PrepareJobRequest); ok {
		if err := add(ctx, jobpb.NewJobServiceClient(conn), job); err != nil {
			return err
		}
	}
	return invoke(ctx, method, request, reply, conn, opts...)
}

// add puts the options beside those of the SDK.
func add(ctx context.Context, service jobpb.JobServiceClient, job *jobpb.PrepareJobRequest) error {
	described, err := service.DescribePipelineOptions(ctx, &jobpb.DescribePipelineOptionsRequest{})
	if err != nil && status.Code(err) != codes.Unimplemented {
		return fmt.Errorf("asking the job service for its options, for --%s: %w", flagName, err)
	}
	options := job.GetPipelineOptions().GetFields()
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := put(options, name, given[name], described.GetOptions()); err != nil {
			wrong = append(wrong, fmt.Errorf("--%s=%s=%s: %w", flagName, name, given[name], err))
		}
	}
	return errors.Join(wrong...)
}

func put(options map[string]*structpb.Value, name, text string, known []*jobpb.PipelineOptionDescriptor) error {
	key := "beam:option:" + name + ":v1"
	if _, taken := options[key]; taken {
		return fmt.Errorf("the Go SDK hands this option over itself: give --%s", name)
	}
	value, err := valued(name, text, known)
	if err != nil {
		return err
	}
	options[key] = value
	return nil
}
