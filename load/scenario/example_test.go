package scenario_test

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/load/scenario"
)

// Example builds a scenario in Go, with a function that judges answers. It does the work of an engine by
// hand: it takes each request and passes back an answer.
func Example() {
	file := scenario.File{
		Schema: scenario.Schema, Name: "orders", Seed: 7,
		Values: map[string]scenario.Value{"amount": {Integer: &scenario.Range{From: 3, To: 3}}},
		Flows: []scenario.Flow{{Name: "order", Steps: []scenario.Step{
			{
				Name: "place", Request: "POST /orders", JSON: map[string]any{"amount": "${amount}"},
				Expect:  scenario.Expect{Status: "201"},
				Extract: map[string]scenario.Extraction{"order": {JSON: "id"}},
				Check: func(answer scenario.Answer) error {
					if bytes.Contains(answer.Body, []byte("sold out")) {
						return errors.New("the item is sold out")
					}
					return nil
				},
			},
			{Name: "look", Request: "GET /orders/${order}",
				Expect: scenario.Expect{JSON: map[string]string{"amount": "${amount}"}}},
		}}},
	}
	plan, err := file.Compile(".")
	if err != nil {
		fmt.Println(err)
		return
	}
	player := plan.Player(scenario.Origin{Host: "127.0.0.1:8080"})
	answers := []scenario.Answer{
		{Status: 201, Body: []byte(`{"id":41,"amount":3}`)},
		{Status: 200, Body: []byte(`{"id":41,"amount":2}`)},
	}
	var session scenario.Session
	player.Begin(&session)
	for more := true; more; {
		request, _, _ := bytes.Cut(session.HTTP1(), []byte("\r\n"))
		outcome, complaint := session.Judge(&answers[session.Operation()], true)
		if complaint != "" {
			complaint = ", " + complaint
		}
		fmt.Printf("%s: %s%s\n", request, outcome, complaint)
		_, more = session.Next(outcome)
	}
	fmt.Println("unchecked:", len(plan.Unchecked()))
	// Output:
	// POST /orders HTTP/1.1: ok
	// GET /orders/41 HTTP/1.1: failed, expected the body to have amount=3, got "{\"id\":41,\"amount\":2}"
	// unchecked: 0
}
