package behaviour

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// descriptionFile describes the airline's public interface, as OpenAPI.
const descriptionFile = "../api/openapi.yaml"

// description checks answers of the airline against descriptionFile.
type description struct{ document *openapi3.T }

// loadDescription reads the description, once, and checks that it is one.
var loadDescription = sync.OnceValues(func() (*description, error) {
	text, err := os.ReadFile(descriptionFile)
	if err != nil {
		return nil, err
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	if err := document.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	return &description{document}, nil
})

// checkAnswer returns an error if the description does not allow an answer. Where the
// description has no such path or method, the answer must be the problem that says so.
func (d *description) checkAnswer(request *http.Request, status int, header http.Header, body []byte) error {
	path, item := d.find(request.URL.EscapedPath())
	switch {
	case item == nil:
		return d.checkProblem("UnknownPath", header, body)
	case item.GetOperation(request.Method) == nil && request.Method == http.MethodHead:
		return nil // its answer has no body
	case item.GetOperation(request.Method) == nil:
		return d.checkProblem("WrongMethod", header, body)
	}
	operation := item.GetOperation(request.Method)
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: request, Route: &routers.Route{Spec: d.document, Path: path, PathItem: item,
				Method: request.Method, Operation: operation},
		},
		Status: status, Header: header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(request.Context(), input); err != nil {
		return err
	}
	if described := operation.Responses.Status(status).Value; len(described.Content) == 0 && len(body) > 0 {
		return fmt.Errorf("an answer %d has a body of %d bytes", status, len(body))
	}
	return nil
}

// find returns the pattern of the description that matches a path, with its item; nil if none does.
func (d *description) find(path string) (pattern string, item *openapi3.PathItem) {
	segments := strings.Split(path, "/")
	for pattern, item := range d.document.Paths.Map() {
		wanted := strings.Split(pattern, "/")
		matches := len(wanted) == len(segments)
		for i := 0; matches && i < len(wanted); i++ {
			matches = wanted[i] == segments[i] || strings.HasPrefix(wanted[i], "{") && segments[i] != ""
		}
		if matches {
			return pattern, item
		}
	}
	return "", nil
}

// checkProblem checks the answer to a request that is no operation of the description.
func (d *description) checkProblem(name string, header http.Header, body []byte) error {
	const problemType = "application/problem+json"
	wanted := d.document.Components.Responses[name].Value.Content[problemType].Schema.Value
	if media, _, err := mime.ParseMediaType(header.Get("Content-Type")); err != nil || media != problemType {
		return fmt.Errorf("%s: Content-Type is %q, want %s", name, header.Get("Content-Type"), problemType)
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return wanted.VisitJSON(value, openapi3.EnableJSONSchema2020())
}
