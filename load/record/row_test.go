package record

import (
	"bytes"
	"encoding/csv"
	"encoding/gob"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// agentsRow returns a row with every field set.
func agentsRow() Row {
	return Row{
		Started: time.Unix(1_700_000_000, 123_456_789).UTC(), Elapsed: 12 * ms, FirstByte: 11 * ms, Connect: 2 * ms,
		Operation: "get", Status: "503", Message: "Service Unavailable", Agent: "agent 2", Loop: "loop 1-3",
		Outcome: Rejected, Failure: "rejected",
		Received: 77, SentBytes: 40, Active: 3, URL: "http://127.0.0.1/", Follows: true, Resent: true, WarmUp: true,
		Noted:    []byte(`{"id":7}`),
		Intended: time.Second, Sent: time.Second + 1, Finished: time.Second + 12*ms,
	}
}

func TestRowsTravelWithoutLoss(t *testing.T) {
	want := agentsRow()
	for field, value := range reflect.ValueOf(want).Fields() {
		if value.IsZero() {
			t.Errorf("%s is not tested", field.Name)
		}
	}
	for _, outcome := range Outcomes() {
		want.Outcome = outcome
		var data bytes.Buffer
		testset.Must(t, gob.NewEncoder(&data).Encode(want))
		var got Row
		if err := gob.NewDecoder(&data).Decode(&got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v (%v), want\n%+v", got, err, want)
		}
	}
	var outcome Outcome
	if err := outcome.GobDecode([]byte("splendid")); err == nil || !strings.Contains(err.Error(), "splendid") {
		t.Errorf("error %v of an unknown outcome", err)
	}
}

// TestListsNameTheAgent: in JMeter's own place, between Latency and IdleTime.
func TestListsNameTheAgent(t *testing.T) {
	var table, lines bytes.Buffer
	writeRows(t, NewJTLWriter(&table, true), agentsRow())
	writeRows(t, NewLineWriter(&lines), agentsRow())
	got, err := csv.NewReader(&table).ReadAll()
	if err != nil || len(got) != 2 {
		t.Fatalf("%d lines, error %v", len(got), err)
	}
	for i, want := range [][]string{{"URL", "Latency", "Hostname", "IdleTime", "Connect"},
		{"http://127.0.0.1/", "11", "agent 2", "0", "2"}} {
		if !slices.Equal(got[i][13:], want) {
			t.Errorf("line %d ends with %q, want %q", i+1, got[i][13:], want)
		}
	}
	if want := `"agent":"agent 2","loop":"loop 1-3"`; !strings.Contains(lines.String(), want) {
		t.Errorf("no %s in %s", want, lines.String())
	}
}
