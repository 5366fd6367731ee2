// Verifies requests, one a line of JSON, and says of each whether it is what it claims to be.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

type request struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"body"`
}

func main() {
	lines := json.NewDecoder(os.Stdin)
	for lines.More() {
		var told request
		if err := lines.Decode(&told); err != nil {
			panic(err)
		}
		fmt.Println(judge(told))
	}
}

func judge(told request) string {
	webhook, err := standardwebhooks.NewWebhook(told.Secret)
	if err != nil {
		return err.Error()
	}
	headers := http.Header{}
	for name, text := range told.Headers {
		headers.Set(name, text)
	}
	if err := webhook.Verify(told.Body, headers); err != nil {
		return err.Error()
	}
	return "accepted"
}
