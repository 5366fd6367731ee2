// Verifies requests, one JSON document per line, and prints the result of each.
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
		var received request
		if err := lines.Decode(&received); err != nil {
			panic(err)
		}
		fmt.Println(verify(received))
	}
}

func verify(received request) string {
	webhook, err := standardwebhooks.NewWebhook(received.Secret)
	if err != nil {
		return err.Error()
	}
	headers := http.Header{}
	for name, text := range received.Headers {
		headers.Set(name, text)
	}
	if err := webhook.Verify(received.Body, headers); err != nil {
		return err.Error()
	}
	return "accepted"
}
