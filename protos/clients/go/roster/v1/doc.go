// Package rosterv1 has the messages and clients of Roster.
//
// A client of each service is made from a connection; every call takes the API key as
// metadata:
//
//	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(...))
//	subscribers := rosterv1.NewSubscriberServiceClient(connection)
//	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
//	answer, err := subscribers.GetSubscriber(ctx, &rosterv1.GetSubscriberRequest{Id: id})
//
// A call that was refused returns a status whose details are those of google.rpc: an
// ErrorInfo, in the domain "roster", with one of the names of [Error_Reason]; a BadRequest
// that names each field at fault; and a RequestInfo with the id under which the service's log
// keeps the call.
//
// An update changes the fields that its mask names, or without a mask those that are not
// empty. [google.golang.org/protobuf/types/known/fieldmaskpb.New] makes a mask and checks its
// paths.
package rosterv1
