package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/shop"
)

// maxBody is in bytes. encoding/json limits how deep a body is nested.
const maxBody = 64 << 10

// readJSON reads the only JSON value of a body. Fields that the interface does not
// have are refused: they are mistakes.
func readJSON(ctx context.Context, r *http.Request, into any) error {
	_, decoding := spans.Begin(ctx, "decode", lab.SegmentEncoding)
	defer decoding.End()
	text, err := front.ReadBody(r)
	if err != nil {
		return err
	}
	if !utf8.Valid(text) { // the decoder would replace what is none
		return rpc.Problemf(rpc.InvalidArgument, "the body is no UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return rpc.Problemf(rpc.InvalidArgument, "the body is not what this resource takes: %.200s",
			withoutPackage(err)) // which may quote the body
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return rpc.Problemf(rpc.InvalidArgument, "the body goes on after its JSON value")
	}
	return nil
}

// withoutPackage returns the message of a decoder's error in the terms of JSON, without names of Go.
func withoutPackage(err error) string {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		what := "it"
		if kind.Field != "" {
			what = "field " + kind.Field
		}
		return what + " cannot be a " + kind.Value
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// whole reads a whole number from 1, without a sign or leading zeros.
func whole(name, text string) (int64, error) {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value < 1 || text != strconv.FormatInt(value, 10) {
		return 0, rpc.Problemf(rpc.InvalidArgument, "%s must be a whole number from 1", name)
	}
	return value, nil
}

// query reads the parameters of a request; others than those named are refused.
func query(r *http.Request, names ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, rpc.Problemf(rpc.InvalidArgument, "the query cannot be read")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // the first mistake is always the same
		given := values[name]
		if len(names) == 0 {
			return nil, rpc.Problemf(rpc.InvalidArgument, "this resource has no parameters: leave out %.60q", name)
		}
		if !slices.Contains(names, name) {
			return nil, rpc.Problemf(rpc.InvalidArgument, "there is no parameter %.60q: use %s", name,
				strings.Join(names, ", "))
		}
		if len(given) > 1 {
			return nil, rpc.Problemf(rpc.InvalidArgument, "parameter %s is given %d times", name, len(given))
		}
		if !utf8.ValidString(given[0]) { // not every binding could carry it
			return nil, rpc.Problemf(rpc.InvalidArgument, "parameter %s is not UTF-8 text", name)
		}
	}
	return values, nil
}

// page reads pageSize, 0 if it is missing, and cursor.
func page(values url.Values) (int32, string, error) {
	cursor := values.Get("cursor")
	if len(cursor) > shop.MaxCursor {
		return 0, "", rpc.Problemf(rpc.InvalidArgument, "a cursor has at most %d characters", shop.MaxCursor)
	}
	if !values.Has("pageSize") {
		return 0, cursor, nil
	}
	size, err := whole("pageSize", values.Get("pageSize"))
	if err != nil || size > shop.MaxPageSize {
		return 0, "", rpc.Problemf(rpc.InvalidArgument, "pageSize must be a whole number from 1 to %d",
			shop.MaxPageSize)
	}
	return int32(size), cursor, nil
}
