package criticalpath_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/binding/spans/criticalpath"
	"github.com/cleave-lab/cleave/lab"
)

const (
	inside   = trace.SpanKindInternal
	server   = trace.SpanKindServer
	producer = trace.SpanKindProducer
	consumer = trace.SpanKindConsumer
)

// record returns a span with small numbers as ids and times.
func record(
	id, parent byte, unit string, role trace.SpanKind, kind lab.SegmentKind, name string, start, end int64,
) spans.Record {
	return spans.Record{
		Trace: trace.TraceID{1}, ID: trace.SpanID{id}, Parent: trace.SpanID{parent},
		Unit: unit, Role: role, Kind: kind, Name: name, Start: start, End: end,
	}
}

// inOneUnit returns an order in one unit: statements with business code between them.
func inOneUnit() []spans.Record {
	return []spans.Record{
		record(1, 0, "shop", inside, lab.SegmentBusiness, "POST /orders", 100, 200),
		record(2, 1, "shop", inside, lab.SegmentEncoding, "decode", 110, 120),
		record(3, 1, "shop", inside, lab.SegmentQueueing, "wait for a connection", 130, 140),
		record(4, 1, "shop", inside, lab.SegmentDatabase, "BEGIN", 140, 150),
		record(5, 1, "shop", inside, lab.SegmentDatabase, "COMMIT", 160, 190),
	}
}

// withCalls returns an order with two concurrent calls, one of which has a child.
func withCalls() []spans.Record {
	return []spans.Record{
		record(1, 0, "orders", inside, lab.SegmentBusiness, "POST /orders", 0, 100),
		record(2, 1, "orders", inside, lab.SegmentTransport, "Payments/Charge", 10, 50),
		record(3, 2, "payments", server, lab.SegmentBusiness, "Payments/Charge", 15, 45),
		record(4, 1, "orders", inside, lab.SegmentTransport, "Inventory/Reserve", 12, 80),
		record(5, 4, "orders", inside, lab.SegmentEncoding, "encode", 12, 20),
		record(6, 4, "inventory", server, lab.SegmentBusiness, "Inventory/Reserve", 30, 70),
		record(7, 6, "inventory", inside, lab.SegmentDatabase, "UPDATE stock", 40, 70),
		record(8, 1, "orders", inside, lab.SegmentDatabase, "SELECT orders", 1, 9),
	}
}

// withMessages returns an order that becomes final by a message: one unit answers at once, and
// another one handles its message.
func withMessages() []spans.Record {
	return []spans.Record{
		record(1, 0, "orders", inside, lab.SegmentBusiness, "POST /orders", 0, 60),
		record(2, 1, "orders", inside, lab.SegmentDatabase, "COMMIT", 20, 40),
		record(3, 1, "orders", inside, lab.SegmentEncoding, "encode", 45, 50),
		record(4, 1, "orders", producer, lab.SegmentBroker, "publish order.placed", 55, 70),
		record(5, 4, "inventory", consumer, lab.SegmentBusiness, "process inventory", 75, 120),
		record(6, 5, "inventory", inside, lab.SegmentQueueing, "wait in the consumer", 75, 80),
		record(7, 5, "inventory", inside, lab.SegmentDatabase, "COMMIT", 100, 115),
		// The relay finds the message before its transaction gets the answer of COMMIT.
		record(8, 5, "inventory", producer, lab.SegmentBroker, "publish stock.reserved", 112, 150),
		// The message is delivered before the broker confirms it.
		record(9, 8, "orders", consumer, lab.SegmentBusiness, "process orders", 140, 180),
		record(10, 9, "orders", inside, lab.SegmentDatabase, "COMMIT", 150, 170),
		record(11, 9, "orders", producer, lab.SegmentBroker, "publish order.confirmed", 171, 175),
		record(12, 11, "inventory", consumer, lab.SegmentBusiness, "process inventory", 180, 300),
		record(13, 1, "orders", inside, lab.SegmentDatabase, "COMMIT", 56, 59), // of another transaction, later
	}
}

// final reports whether a span made the order final.
func final(r spans.Record) bool { return r.Name == "process orders" }

// TestPaths compares whole paths: over calls, over messages, and to moments before and after the end.
func TestPaths(t *testing.T) {
	for name, c := range map[string]struct {
		records []spans.Record
		done    int64 // end of the path
		want    []string
	}{
		"to the end": {inOneUnit(), 200, []string{
			"100-110 shop business code POST /orders", "110-120 shop encoding decode",
			"120-130 shop business code POST /orders",
			"130-140 shop queueing wait for a connection", "140-150 shop database BEGIN",
			"150-160 shop business code POST /orders",
			"160-190 shop database COMMIT", "190-200 shop business code POST /orders"}},
		"to the commit": {inOneUnit(), 190, []string{
			"100-110 shop business code POST /orders", "110-120 shop encoding decode",
			"120-130 shop business code POST /orders",
			"130-140 shop queueing wait for a connection", "140-150 shop database BEGIN",
			"150-160 shop business code POST /orders",
			"160-190 shop database COMMIT"}},
		"beyond the end": {inOneUnit()[:1], 300, []string{"100-200 shop business code POST /orders"}},
		"concurrent work is left out": {withCalls(), 100, []string{
			"0-1 orders business code POST /orders", "1-9 orders database SELECT orders",
			"9-12 orders business code POST /orders",
			"12-20 orders encoding encode", "20-30 orders transport Inventory/Reserve",
			"30-40 inventory business code Inventory/Reserve",
			"40-70 inventory database UPDATE stock", "70-80 orders transport Inventory/Reserve",
			"80-100 orders business code POST /orders"}},
		"over messages": {withMessages(), 171, []string{
			"0-20 orders business code POST /orders", "20-40 orders database COMMIT", "40-55 orders queueing outbox",
			"55-70 orders broker publish order.placed", "70-75 broker broker inventory",
			"75-80 inventory queueing wait in the consumer",
			"80-100 inventory business code process inventory", "100-112 inventory database COMMIT",
			"112-140 inventory broker publish stock.reserved", "140-150 orders business code process orders",
			"150-170 orders database COMMIT", "170-171 orders business code process orders"}},
		"refused at once": {withMessages()[:4], 60, []string{
			"0-20 orders business code POST /orders", "20-40 orders database COMMIT",
			"40-45 orders business code POST /orders",
			"45-50 orders encoding encode", "50-60 orders business code POST /orders"}},
	} {
		t.Run(name, func(t *testing.T) {
			slices.Reverse(c.records) // the order in files does not matter
			operation, whole := criticalpath.New(c.records)
			if !whole {
				t.Fatal("there is no first span")
			}
			path, whole := operation.Until(c.done, final)
			if !whole {
				t.Fatal("spans are missing")
			}
			var got []string
			for _, s := range path {
				got = append(got, fmt.Sprintf("%d-%d %s %s %s", s.Start, s.End, s.Unit, s.Kind, s.Name))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestOneOfSeveralFinalSpansIsTaken: always the same one if they begin together.
func TestOneOfSeveralFinalSpansIsTaken(t *testing.T) {
	records := []spans.Record{record(1, 0, "shop", inside, lab.SegmentBusiness, "POST /orders", 0, 50)}
	for id := byte(2); id < 10; id++ {
		records = append(records,
			record(id, 1, "shop", consumer, lab.SegmentBusiness, "process orders", 60, 70+int64(id)))
	}
	for range 20 {
		operation, _ := criticalpath.New(records)
		if path, _ := operation.Until(100, final); path[len(path)-1].End != 79 {
			t.Fatalf("the path ends at %d, want that of the span that ends last, 79", path[len(path)-1].End)
		}
	}
}

// FuzzPaths: the path of arbitrary spans has no gaps, and none of it is after the operation.
func FuzzPaths(f *testing.F) {
	f.Add([]byte{1, 0, 0, 10, 90, 2, 1, 0, 20, 80, 3, 2, 4, 30, 40})
	f.Add([]byte{1, 0, 0, 10, 90, 2, 2, 0, 20, 80, 3, 4, 5, 30, 40, 4, 3, 5, 30, 40}) // a cycle of parents
	f.Fuzz(func(t *testing.T, text []byte) {
		var records []spans.Record
		for span := range slices.Chunk(text, 5) {
			if len(span) == 5 {
				records = append(records, record(span[0]%8, span[1]%8, "unit", trace.SpanKind(span[2]%6),
					lab.SegmentDatabase, "COMMIT", int64(span[3]), int64(span[4])))
			}
		}
		operation, whole := criticalpath.New(records)
		if !whole {
			return
		}
		path, _ := operation.Until(100, func(r spans.Record) bool { return r.ID[0]%2 == 1 })
		for i, s := range path {
			if s.Start >= s.End || s.End > 100 || i > 0 && s.Start != path[i-1].End {
				t.Fatalf("path %+v of %+v", path, records)
			}
		}
	})
}

// TestWithoutASpanThereIsNoPath leaves out a different span of the path each time.
func TestWithoutASpanThereIsNoPath(t *testing.T) {
	for _, missing := range []byte{1, 4, 5, 8} {
		records := slices.DeleteFunc(withMessages(),
			func(r spans.Record) bool { return r.ID == trace.SpanID{missing} })
		operation, whole := criticalpath.New(records)
		if whole {
			_, whole = operation.Until(171, final)
		}
		if whole {
			t.Errorf("without span %d there is a path", missing)
		}
	}
}
