package shop

import (
	"strings"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// What the shop accepts.
const (
	MaxKeyLength  = 64          // characters of an idempotency key
	MaxLines      = 50          // lines of an order
	MaxQuantity   = 1000        // units in a line
	MaxPrice      = 100_000_000 // cents
	MaxPageSize   = 100         // entries of a page
	MaxPrefix     = 64          // characters of a search
	MaxCursor     = 256         // characters of a cursor
	DefaultPage   = 20          // entries of a page if the request has no size
	OrderIDLength = 36          // characters of an order's id
)

// CheckNewOrder refuses what no shop could carry out, with InvalidArgument.
func CheckNewOrder(in *shoppb.CreateOrderRequest) error {
	if n := len(in.GetIdempotencyKey()); n == 0 || n > MaxKeyLength {
		return rpc.Problemf(rpc.InvalidArgument, "the idempotency key has %d characters, use 1 to %d", n,
			MaxKeyLength)
	}
	if !printable(in.GetIdempotencyKey()) {
		return rpc.Problemf(rpc.InvalidArgument, "the idempotency key has characters other than visible ASCII")
	}
	if in.GetCustomerId() < 1 {
		return rpc.Problemf(rpc.InvalidArgument, "customer %d: ids begin at 1", in.GetCustomerId())
	}
	return CheckLines(in.GetLines())
}

// CheckLines refuses lines that no order can have, with InvalidArgument.
func CheckLines(lines []*shoppb.Line) error {
	if n := len(lines); n == 0 || n > MaxLines {
		return rpc.Problemf(rpc.InvalidArgument, "the order has %d lines, use 1 to %d", n, MaxLines)
	}
	for i, line := range lines {
		if line.GetProductId() < 1 {
			return rpc.Problemf(rpc.InvalidArgument, "line %d: product %d: ids begin at 1", i+1, line.GetProductId())
		}
		if q := line.GetQuantity(); q < 1 || q > MaxQuantity {
			return rpc.Problemf(rpc.InvalidArgument, "line %d: quantity %d, use 1 to %d", i+1, q, MaxQuantity)
		}
		for _, before := range lines[:i] {
			if before.GetProductId() == line.GetProductId() {
				return rpc.Problemf(rpc.InvalidArgument, "line %d: product %d is in the order twice", i+1,
					line.GetProductId())
			}
		}
	}
	return nil
}

// idCharacters are the characters of the id of an order.
const idCharacters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-"

// CheckOrderID refuses what cannot be the id of an order, with InvalidArgument.
func CheckOrderID(id string) error {
	foreign := strings.ContainsFunc(id, func(r rune) bool { return !strings.ContainsRune(idCharacters, r) })
	if len(id) == 0 || len(id) > OrderIDLength || foreign {
		return rpc.Problemf(rpc.InvalidArgument, "an order's id has 1 to %d letters, digits and hyphens",
			OrderIDLength)
	}
	return nil
}

// PageSize returns the size of a page that a request asks for; 0 asks for the default.
func PageSize(asked int32) (int, error) {
	switch {
	case asked == 0:
		return DefaultPage, nil
	case asked < 0 || asked > MaxPageSize:
		return 0, rpc.Problemf(rpc.InvalidArgument, "page size %d, use 1 to %d", asked, MaxPageSize)
	}
	return int(asked), nil
}

// CheckPrefix refuses a search text that is too long or no text at all.
func CheckPrefix(prefix string) error {
	if !utf8.ValidString(prefix) || utf8.RuneCountInString(prefix) > MaxPrefix {
		return rpc.Problemf(rpc.InvalidArgument, "a search text has at most %d characters of UTF-8", MaxPrefix)
	}
	for _, r := range prefix {
		if r < ' ' {
			return rpc.Problemf(rpc.InvalidArgument, "a search text has no control characters")
		}
	}
	return nil
}

// printable reports whether a text is visible ASCII throughout.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}
