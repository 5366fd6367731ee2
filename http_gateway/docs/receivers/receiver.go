// Takes events from Roster. To install:
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

// Both belong into a database: what was answered with 2xx does not come again.
var seen sync.Map
var waiting = make(chan event, 1000)

func main() {
	webhook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	go work()
	http.HandleFunc("POST /", func(response http.ResponseWriter, request *http.Request) {
		// The bytes as they came: JSON that was read and written again is another text.
		body, err := io.ReadAll(request.Body)
		if err != nil || webhook.Verify(body, request.Header) != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		var told event
		if err := json.Unmarshal(body, &told); err != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		if _, known := seen.LoadOrStore(told.ID, true); !known {
			waiting <- told
		}
		response.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "8000"), nil))
}

func work() {
	for told := range waiting {
		fmt.Println(told.Sequence, told.Type, string(told.Data))
	}
}
