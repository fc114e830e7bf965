package shop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

func TestStateMachine(t *testing.T) {
	const confirmed, pending, rejected, cancelled = shop.StateConfirmed, shop.StatePending, shop.StateRejected,
		shop.StateCancelled
	cases := []struct {
		from, to shop.State
		path     bool
	}{
		{pending, shop.StateReserved, true},
		{pending, shop.StatePaid, true},
		{pending, confirmed, true},
		{pending, cancelled, true},
		{pending, rejected, true},
		{confirmed, cancelled, true},
		{confirmed, pending, false},
		{confirmed, rejected, false},
		{rejected, cancelled, false},
		{cancelled, confirmed, false},
		{confirmed, confirmed, true},
		{"nothing", confirmed, false},
	}
	for _, c := range cases {
		if path := c.from.MayReach(c.to); path != c.path {
			t.Errorf("%s to %s: path %v, want %v", c.from, c.to, path, c.path)
		}
	}
	for _, s := range shop.States() {
		if !s.Known() || !shop.StatePending.MayReach(s) {
			t.Errorf("%s is not known or cannot be reached", s)
		}
	}
	for _, step := range shop.Transitions() {
		if step.From.Final() && step.To != cancelled {
			t.Errorf("%s is final and may become %s", step.From, step.To)
		}
	}
	if shop.State("lost").Known() {
		t.Error("a state nobody declared is known")
	}
}

// absent is an error of a part that does not answer.
type absent bool

func (absent) Error() string       { return "secret address 10.0.0.1" }
func (a absent) Unavailable() bool { return bool(a) }

func TestProblemOf(t *testing.T) {
	own := rpc.Problemf(shop.Declined, "no money")
	cases := []struct {
		err  error
		want rpc.Kind
	}{
		{own, shop.Declined},
		{fmt.Errorf("pay: %w", own), shop.Declined},
		{fmt.Errorf("wait: %w", context.DeadlineExceeded), rpc.DeadlineExceeded},
		{context.Canceled, rpc.Cancelled},
		{fmt.Errorf("ask: %w", absent(true)), rpc.Unavailable},
		{absent(false), rpc.Internal},
		{errors.New("secret"), rpc.Internal},
	}
	for _, c := range cases {
		got := shop.ProblemOf(c.err)
		if got.Kind != c.want || got.Detail == "" || strings.Contains(got.Detail, "secret") {
			t.Errorf("%v: %s %q, want %s", c.err, got.Kind, got.Detail, c.want)
		}
		if !errors.Is(got, c.err) && !errors.Is(c.err, got) {
			t.Errorf("%v: the cause is lost", c.err)
		}
		if !shop.IsKind(c.err, c.want) {
			t.Errorf("%v is not of kind %s", c.err, c.want)
		}
	}
	if shop.ProblemOf(nil) != nil || shop.IsKind(nil, rpc.Internal) {
		t.Error("no error is a problem")
	}
}

func TestRejects(t *testing.T) {
	for kind, rejecting := range map[rpc.Kind]bool{
		shop.UnknownCustomer: true, shop.UnknownProduct: true, shop.OutOfStock: true, shop.Declined: true,
		shop.NotFound: false, shop.Conflict: false, shop.KeyReused: false, rpc.InvalidArgument: false,
		rpc.Unavailable: false, rpc.DeadlineExceeded: false, rpc.Cancelled: false, rpc.Internal: false,
	} {
		reason, ok := shop.Rejects(fmt.Errorf("step: %w", rpc.Problemf(kind, "why")))
		if ok != rejecting || ok && (reason.GetKind() != string(kind) || reason.GetDetail() != "why") {
			t.Errorf("%s: %v, %v", kind, ok, reason)
		}
	}
	if _, ok := shop.Rejects(nil); ok {
		t.Error("no error rejects")
	}
}

func TestLimits(t *testing.T) {
	valid := func() *shoppb.CreateOrderRequest {
		return &shoppb.CreateOrderRequest{IdempotencyKey: "k", CustomerId: 1,
			Lines: []*shoppb.Line{{ProductId: 1, Quantity: 1}}}
	}
	testset.Must(t, shop.CheckNewOrder(valid()))
	cases := map[string]func(in *shoppb.CreateOrderRequest){
		"no key": func(in *shoppb.CreateOrderRequest) { in.IdempotencyKey = "" },
		"key too long": func(in *shoppb.CreateOrderRequest) {
			in.IdempotencyKey = strings.Repeat("k", shop.MaxKeyLength+1)
		},
		"key with a space": func(in *shoppb.CreateOrderRequest) { in.IdempotencyKey = "a b" },
		"customer 0":       func(in *shoppb.CreateOrderRequest) { in.CustomerId = 0 },
		"no lines":         func(in *shoppb.CreateOrderRequest) { in.Lines = nil },
		"too many lines": func(in *shoppb.CreateOrderRequest) {
			in.Lines = make([]*shoppb.Line, shop.MaxLines+1)
		},
		"nil line":          func(in *shoppb.CreateOrderRequest) { in.Lines[0] = nil },
		"product 0":         func(in *shoppb.CreateOrderRequest) { in.Lines[0].ProductId = 0 },
		"quantity 0":        func(in *shoppb.CreateOrderRequest) { in.Lines[0].Quantity = 0 },
		"quantity too high": func(in *shoppb.CreateOrderRequest) { in.Lines[0].Quantity = shop.MaxQuantity + 1 },
		"product twice":     func(in *shoppb.CreateOrderRequest) { in.Lines = append(in.Lines, in.Lines[0]) },
	}
	for name, spoil := range cases {
		in := valid()
		spoil(in)
		if err := shop.CheckNewOrder(in); !shop.IsKind(err, rpc.InvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for id, ok := range map[string]bool{"0198-ab": true, "": false, "a b": false, "é": false,
		strings.Repeat("a", shop.OrderIDLength+1): false} {
		if err := shop.CheckOrderID(id); (err == nil) != ok {
			t.Errorf("order id %q: %v", id, err)
		}
	}
	for asked, want := range map[int32]int{0: shop.DefaultPage, 1: 1, shop.MaxPageSize: shop.MaxPageSize, -1: 0,
		shop.MaxPageSize + 1: 0} {
		if got, err := shop.PageSize(asked); got != want || (err == nil) != (want > 0) {
			t.Errorf("page size %d: %d, %v", asked, got, err)
		}
	}
}

func TestSeed(t *testing.T) {
	seed := shop.Seed{Customers: 2, Products: 2, Random: 1}
	testset.Must(t, seed.Check())
	if a, b := seed.Product(1), seed.Product(1); a != b || a.Name == seed.Product(2).Name ||
		a.PriceCents < 100 || a.PriceCents > 19_999 {
		t.Errorf("product 1 = %+v, then %+v; product 2 = %+v", a, b, seed.Product(2))
	}
	if a, b := seed.Customer(1), seed.Customer(1); a != b || a.Email == seed.Customer(2).Email {
		t.Errorf("customer 1 = %+v, then %+v", a, b)
	}
	other := shop.Seed{Customers: 2, Products: 2, Random: 2}
	if seed.Product(1) == other.Product(1) && seed.Customer(1) == other.Customer(1) {
		t.Error("two seeds make the same shop")
	}
	err := shop.Seed{Customers: 0, Products: shop.MaxRows + 1, Stock: -1, Balance: -1}.Check()
	for _, mistake := range []string{"customers 0", "products 10000001", "stock -1", "balance_cents -1"} {
		if err == nil || !strings.Contains(err.Error(), mistake) {
			t.Errorf("%v does not name %q", err, mistake)
		}
	}
}
