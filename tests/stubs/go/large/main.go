// Large lists and exports subscribers with a client that has default settings.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	rosterv1 "roster.internal/go/roster/v1"
)

func main() {
	connection, err := grpc.NewClient(
		os.Getenv("ROSTER_GRPC_ADDRESS"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	)
	check(err)
	defer connection.Close()
	subscribers := rosterv1.NewSubscriberServiceClient(connection)
	key := "Bearer " + os.Getenv("ROSTER_API_KEY")
	withKey := metadata.AppendToOutgoingContext(context.Background(), "authorization", key)

	page, err := subscribers.ListSubscribers(withKey, &rosterv1.ListSubscribersRequest{Limit: 100})
	check(err)
	stream, err := subscribers.ExportSubscribers(withKey, &rosterv1.ExportSubscribersRequest{})
	check(err)
	exported := 0
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		exported += len(part.Subscribers)
	}
	fmt.Printf("{\"listed\": %d, \"exported\": %d}\n", len(page.Subscribers), exported)
}

// check ends the program if something failed.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
