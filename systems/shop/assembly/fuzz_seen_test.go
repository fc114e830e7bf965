package assembly_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
)

// maxSeen bounds what is remembered.
const maxSeen = 50

// seen keeps the ids of earlier answers, so that requests meet things that exist.
type seen struct {
	orders  []string
	created []request
	next    map[string]url.Values // queries for the next page, by operation
}

// known returns the id of an order that exists, as a rule; other values stay.
func (s *seen) known(parameter, value string, random *rand.Rand) string {
	if parameter != "orderId" || len(s.orders) == 0 || random.IntN(4) == 0 {
		return value
	}
	return s.orders[random.IntN(len(s.orders))]
}

// learn remembers what an answer tells.
func (s *seen) learn(made request, got reply) {
	if got.status >= http.StatusBadRequest {
		return
	}
	var body struct {
		OrderID    string `json:"orderId"`
		NextCursor string `json:"nextCursor"`
	}
	if json.Unmarshal(got.body, &body) != nil {
		return // the description itself is no JSON
	}
	if made.route.Operation.OperationID == "createOrder" && len(s.created) < maxSeen {
		s.orders = append(s.orders, body.OrderID)
		s.created = append(s.created, made)
	}
	if s.next == nil {
		s.next = map[string]url.Values{}
	}
	delete(s.next, made.route.Operation.OperationID)
	if body.NextCursor != "" {
		next := maps.Clone(made.query)
		next.Set("cursor", body.NextCursor)
		s.next[made.route.Operation.OperationID] = next
	}
}
