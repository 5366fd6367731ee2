// Performs the steps with the generated client, and prints each completed step.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"time"

	roster "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func main() {
	configuration := roster.NewConfiguration()
	configuration.Servers = roster.ServerConfigurations{{URL: os.Getenv("ROSTER_URL")}}
	client := roster.NewAPIClient(configuration)
	ctx := context.WithValue(
		context.Background(), roster.ContextAccessToken, os.Getenv("ROSTER_API_KEY"))

	id := create(ctx, client)
	read(ctx, client, id)
	update(ctx, client, id)
	bulk(ctx, client)
	fail(ctx, client)
	events(ctx, client)
	payload()
}

func create(ctx context.Context, client *roster.APIClient) string {
	field := roster.NewCreateCustomFieldRequest("Plan")
	_, _, err := client.CustomFieldsAPI.CreateCustomField(ctx).CreateCustomFieldRequest(*field).Execute()
	must(err)
	request := roster.NewCreateSubscriberRequest("ada@example.com")
	request.SetFirstName("Ada")
	request.SetIsConfirmed(true)
	request.SetTags([]string{"vip", "news"})
	request.SetCustomFields(map[string]any{"plan": "pro"})
	created, _, err := client.SubscribersAPI.CreateSubscriber(ctx).CreateSubscriberRequest(*request).Execute()
	must(err)
	equal(created.Subscriber.Status, "CONFIRMED")
	equal(created.Subscriber.Tags, []string{"news", "vip"})
	fmt.Println("create")
	return created.Subscriber.Id
}

func read(ctx context.Context, client *roster.APIClient, id string) {
	found, _, err := client.SubscribersAPI.GetSubscriber(ctx, id).Execute()
	must(err)
	equal(found.Subscriber.CustomFields, map[string]any{"plan": "pro"})
	equal(time.Since(found.Subscriber.CreatedAt).Abs() < 24*time.Hour, true)
	fmt.Println("get")
	page, _, err := client.SubscribersAPI.ListSubscribers(ctx).Status("CONFIRMED").Limit(10).Execute()
	must(err)
	equal([]int32{page.GetTotal(), page.Limit}, []int32{1, 10})
	equal(page.Subscribers, []roster.Subscriber{found.Subscriber})
	fmt.Println("list")
}

func update(ctx context.Context, client *roster.APIClient, id string) {
	request := roster.NewUpdateSubscriberRequest()
	request.SetLastName("Lovelace")
	request.SetTags([]string{"vip"})
	changed, _, err := client.SubscribersAPI.UpdateSubscriber(ctx, id).UpdateSubscriberRequest(*request).Execute()
	must(err)
	equal(changed.Subscriber.FirstName+" "+changed.Subscriber.LastName, "Ada Lovelace")
	equal(changed.Subscriber.Tags, []string{"vip"})
	fmt.Println("update")
}

func bulk(ctx context.Context, client *roster.APIClient) {
	rows := make([]roster.BulkSubscriber, 2)
	rows[0].SetEmail("person@example.com")
	rows[1].SetEmail("nonsense")
	request := roster.NewBulkCreateSubscribersRequest(rows)
	created, _, err := client.SubscribersAPI.BulkCreateSubscribers(ctx).BulkCreateSubscribersRequest(*request).Execute()
	must(err)
	equal(created.Failed, []roster.BulkFailure{{Index: 1, Email: "nonsense", Reason: "INVALID_EMAIL"}})
	fmt.Println("bulk")
}

func fail(ctx context.Context, client *roster.APIClient) {
	_, response, err := client.SubscribersAPI.GetSubscriber(ctx, "missing@example.com").Execute()
	equal(response.StatusCode, http.StatusNotFound)
	var failure *roster.GenericOpenAPIError
	equal(errors.As(err, &failure), true)
	failed, known := failure.Model().(roster.ErrorResponse)
	equal(known, true)
	equal(failed.Error.Code, "SubscriberNotFound")
	equal(failed.Error.RequestId != "", true)
	fmt.Println("error")
}

func events(ctx context.Context, client *roster.APIClient) {
	webhook := roster.NewCreateWebhookRequest("http://127.0.0.1:9/")
	webhook.SetEnabled(false)
	_, _, err := client.WebhooksAPI.CreateWebhook(ctx).CreateWebhookRequest(*webhook).Execute()
	must(err)
	tag := roster.NewCreateTagRequest("spring")
	_, _, err = client.TagsAPI.CreateTag(ctx).CreateTagRequest(*tag).Execute()
	must(err)
	page, _, err := client.WebhooksAPI.ListEvents(ctx).AfterSequence(0).EventType("tag.*").Execute()
	must(err)
	equal(len(page.Events), 1)
	equal(page.Events[0].Type, "tag.created")
	equal(page.Events[0].Sequence, int64(1))
	fmt.Println("events")
}

func payload() {
	var event roster.EventPayload
	must(json.Unmarshal([]byte(os.Getenv("ROSTER_EVENT")), &event))
	equal(event.SubscriberEvent.Type, "subscriber.updated")
	equal(event.SubscriberEvent.Data.Subscriber.LastName, "Lovelace")
	equal(event.SubscriberEvent.Previous, map[string]any{"lastName": "", "customFields": nil})
	fmt.Println("payload")
}

func must(err error) {
	if err != nil {
		var failure *roster.GenericOpenAPIError
		if errors.As(err, &failure) {
			panic(fmt.Sprintf("%v: %s", err, failure.Body()))
		}
		panic(err)
	}
}

func equal(got, wanted any) {
	if !reflect.DeepEqual(got, wanted) {
		panic(fmt.Sprintf("%#v is not %#v", got, wanted))
	}
}
