package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	rosterv1 "roster.internal/go/roster/v1"
)

const bulk = 24

func (walk *walker) authenticate() {
	_, err := walk.tags.ListTags(context.Background(), &rosterv1.ListTagsRequest{})
	expect(status.Code(err), codes.Unauthenticated)
	expect(detail[*errdetails.ErrorInfo](err).Reason, rosterv1.Error_UNAUTHORIZED.String())

	response, err := walk.tags.ListTags(walk.context, &rosterv1.ListTagsRequest{})
	check(err)
	expect(response.GetTotal(), 0)
}

func (walk *walker) create() {
	response, err := walk.subscribers.CreateSubscriber(walk.context, &rosterv1.CreateSubscriberRequest{
		Email:       "ada@example.com",
		FirstName:   "Ada",
		IsConfirmed: true,
		Tags:        []string{"vip", "early"},
	})
	check(err)

	walk.created = response.Subscriber
	expect(walk.created.Status, rosterv1.Subscriber_CONFIRMED)
	expect(fmt.Sprint(walk.created.Tags), "[early vip]")
	expect(time.Since(walk.created.CreatedAt.AsTime()).Abs() < time.Hour, true)

	field, err := walk.fields.CreateCustomField(walk.context, &rosterv1.CreateCustomFieldRequest{Label: "Age"})
	check(err)
	expect(field.CustomField.Fallback, nil) // absent, which is not empty
}

func (walk *walker) bulkCreate() {
	request := &rosterv1.BulkCreateSubscribersRequest{}
	for number := range bulk + 1 {
		email := fmt.Sprintf("person%d@example.com", number%bulk)
		request.Subscribers = append(request.Subscribers, &rosterv1.BulkSubscriber{Email: email})
	}

	response, err := walk.subscribers.BulkCreateSubscribers(walk.context, request)

	check(err)
	expect(len(response.Failed), 1)
	expect(response.Failed[0].Index, bulk)
	expect(response.Failed[0].Reason, rosterv1.Row_DUPLICATE_IN_REQUEST)
}

func (walk *walker) listByPageToken() {
	request := &rosterv1.ListSubscribersRequest{Limit: 10}
	seen := 0
	for {
		response, err := walk.subscribers.ListSubscribers(walk.context, request)
		check(err)
		expect(response.GetTotal(), 1+bulk)
		for _, subscriber := range response.Subscribers {
			expect(subscriber.Email, addressAt(seen))
			seen++
		}
		if response.NextPageToken == "" {
			break
		}
		request.PageToken = response.NextPageToken
	}
	expect(seen, 1+bulk)
}

func (walk *walker) updateWithMask() {
	request := &rosterv1.UpdateSubscriberRequest{Id: walk.created.Id, LastName: "Lovelace"}
	mask, err := fieldmaskpb.New(request, "last_name")
	check(err)
	request.UpdateMask = mask

	response, err := walk.subscribers.UpdateSubscriber(walk.context, request)

	check(err)
	expect(response.Subscriber.LastName, "Lovelace")
	expect(response.Subscriber.FirstName, "Ada")
}

func (walk *walker) readErrorDetails() {
	_, err := walk.tags.CreateTag(walk.context, &rosterv1.CreateTagRequest{Name: " "})

	expect(status.Code(err), codes.InvalidArgument)
	info := detail[*errdetails.ErrorInfo](err)
	expect(info.Reason, rosterv1.Error_VALIDATION_ERROR.String())
	expect(info.Domain, "roster")
	violations := detail[*errdetails.BadRequest](err).FieldViolations
	expect(len(violations), 1)
	expect(violations[0].Field, "name")
	expect(violations[0].Reason, rosterv1.Error_Detail_REQUIRED.String())
	expect(detail[*errdetails.RequestInfo](err).RequestId != "", true)
}

func (walk *walker) streamExport() {
	stream, err := walk.subscribers.ExportSubscribers(walk.context, &rosterv1.ExportSubscribersRequest{})
	check(err)
	seen := 0
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		for _, subscriber := range part.Subscribers {
			expect(subscriber.Email, addressAt(seen))
			seen++
		}
	}
	expect(seen, 1+bulk)
}

func (walk *walker) exceedDeadline() {
	soon, cancel := context.WithTimeout(walk.context, 200*time.Millisecond)
	defer cancel()
	stream, err := walk.subscribers.ImportSubscribers(soon)
	check(err)

	_, err = stream.Recv() // nothing is sent, so nothing is received

	expect(status.Code(err), codes.DeadlineExceeded)
}

func (walk *walker) listEvents() {
	created, err := walk.webhooks.CreateWebhook(walk.context, &rosterv1.CreateWebhookRequest{
		Url:        "https://example.com/hooks",
		EventTypes: []string{"tag.*"},
		Enabled:    proto.Bool(false),
	})
	check(err)
	expect(strings.HasPrefix(created.Secret, "whsec_"), true)
	expect(created.Webhook.Enabled, false)
	expect(created.Webhook.FailingSince, nil)

	_, err = walk.tags.CreateTag(walk.context, &rosterv1.CreateTagRequest{Name: "gold"})
	check(err)
	response, err := walk.webhooks.ListEvents(walk.context, &rosterv1.ListEventsRequest{EventType: "tag.*"})
	check(err)
	expect(len(response.Events), 1)
	event := response.Events[0]
	expect(event.Type, "tag.created")
	expect(event.Sequence, 1)
	tag := event.Data.Fields["tag"].GetStructValue()
	expect(tag.Fields["name"].GetStringValue(), "gold")
	expect(event.Previous, nil)
}

// addressAt returns the address of a subscriber by its position in the order of creation.
func addressAt(position int) string {
	if position == 0 {
		return "ada@example.com"
	}
	return fmt.Sprintf("person%d@example.com", position-1)
}

// detail returns the detail of an error that has this type.
func detail[T any](err error) T {
	for _, each := range status.Convert(err).Details() {
		if detail, ok := each.(T); ok {
			return detail
		}
	}
	panic(fmt.Sprintf("%v has no detail %T", err, *new(T)))
}
