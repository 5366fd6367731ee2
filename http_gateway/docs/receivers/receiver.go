// Receives events from Roster. To install:
// go get github.com/standard-webhooks/standard-webhooks/libraries
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

type event struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Sequence int64           `json:"sequence"`
	Data     json.RawMessage `json:"data"`
}

// Use a database for both: an event that was accepted with 2xx is not sent again.
var seen sync.Map
var waiting = make(chan event, 1000)

func main() {
	webhook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	go work()
	http.HandleFunc("POST /", func(response http.ResponseWriter, request *http.Request) {
		// Verify the raw bytes: JSON that was parsed and serialized again can differ.
		body, err := io.ReadAll(request.Body)
		if err != nil || webhook.Verify(body, request.Header) != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		var received event
		if err := json.Unmarshal(body, &received); err != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		if _, known := seen.LoadOrStore(received.ID, true); !known {
			waiting <- received
		}
		response.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "8000"), nil))
}

func work() {
	for received := range waiting {
		fmt.Println(received.Sequence, received.Type, string(received.Data))
	}
}
