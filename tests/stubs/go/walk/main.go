// Walk performs the steps of a client that uses the Go module.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	rosterv1 "roster.internal/go/roster/v1"
)

// walker holds what the steps share.
type walker struct {
	context     context.Context // with the key
	subscribers rosterv1.SubscriberServiceClient
	tags        rosterv1.TagServiceClient
	fields      rosterv1.CustomFieldServiceClient
	webhooks    rosterv1.WebhookServiceClient
	created     *rosterv1.Subscriber
}

func main() {
	connection, err := grpc.NewClient(
		os.Getenv("ROSTER_GRPC_ADDRESS"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	)
	check(err)
	defer connection.Close()

	key := "Bearer " + os.Getenv("ROSTER_API_KEY")
	walk := &walker{
		context:     metadata.AppendToOutgoingContext(context.Background(), "authorization", key),
		subscribers: rosterv1.NewSubscriberServiceClient(connection),
		tags:        rosterv1.NewTagServiceClient(connection),
		fields:      rosterv1.NewCustomFieldServiceClient(connection),
		webhooks:    rosterv1.NewWebhookServiceClient(connection),
	}
	for _, step := range []struct {
		name string
		take func()
	}{
		{"authenticate", walk.authenticate},
		{"create", walk.create},
		{"bulk_create", walk.bulkCreate},
		{"list_by_page_token", walk.listByPageToken},
		{"update_with_mask", walk.updateWithMask},
		{"read_error_details", walk.readErrorDetails},
		{"stream_export", walk.streamExport},
		{"exceed_deadline", walk.exceedDeadline},
		{"list_events", walk.listEvents},
	} {
		step.take()
		line, err := json.Marshal(map[string]string{"step": step.name})
		check(err)
		fmt.Println(string(line))
	}
}

// check panics if there is an error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// expect panics if the values differ.
func expect[T comparable](actual, expected T) {
	if actual != expected {
		panic(fmt.Sprintf("got %v, expected %v", actual, expected))
	}
}
