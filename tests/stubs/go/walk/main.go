// Walk does what a user of the Go module does, against a running service.
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

	key := "Bearer " + os.Getenv("ROSTER_KEY")
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
		{"honour_deadline", walk.honourDeadline},
		{"hear_of_events", walk.hearOfEvents},
	} {
		step.take()
		line, err := json.Marshal(map[string]string{"step": step.name})
		check(err)
		fmt.Println(string(line))
	}
}

// check ends the program where something failed that should not have.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// expect ends the program unless what was found is what was expected.
func expect[T comparable](found, expected T) {
	if found != expected {
		panic(fmt.Sprintf("found %v, expected %v", found, expected))
	}
}
