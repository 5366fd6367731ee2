// Package rosterv1 contains the messages and clients of Roster.
//
// Each service has a client, which is created from a connection. Every call needs the API key
// in its metadata:
//
//	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(...))
//	subscribers := rosterv1.NewSubscriberServiceClient(connection)
//	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
//	response, err := subscribers.GetSubscriber(ctx, &rosterv1.GetSubscriberRequest{Id: id})
//
// A failed call returns a status with details of google.rpc: an ErrorInfo in the domain
// "roster" with the name of an [Error_Reason], a BadRequest with each invalid field, and a
// RequestInfo with the request id, which the log of the service contains.
//
// An update changes the fields in its mask; without a mask, those that are not empty.
// [google.golang.org/protobuf/types/known/fieldmaskpb.New] creates a mask and checks its paths.
package rosterv1
