// Corpus decodes the messages of a corpus with the Go module, and prints each as JSON.
package main

import (
	"encoding/base64"
	"encoding/json"
	"os"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	_ "roster.internal/go/roster/v1" // registers the types
)

type entry struct {
	Type   protoreflect.FullName
	Binary string
}

type line struct {
	Binary string          `json:"binary"`
	JSON   json.RawMessage `json:"json"`
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var entries []entry
	check(json.Unmarshal(text, &entries))

	output := json.NewEncoder(os.Stdout)
	for _, each := range entries {
		check(output.Encode(read(each)))
	}
}

// read decodes a message and returns it as JSON and encoded again.
func read(each entry) line {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(each.Type)
	check(err)
	encoded, err := base64.StdEncoding.DecodeString(each.Binary)
	check(err)
	message := kind.New().Interface()
	check(proto.Unmarshal(encoded, message))

	again, err := proto.Marshal(message)
	check(err)
	text, err := protojson.Marshal(message)
	check(err)
	return line{base64.StdEncoding.EncodeToString(again), text}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
