package predict

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/stats"
)

// MostComponents is the largest number of components whose partitions are ranked: ten have 115,975.
const MostComponents = 10

// shownOfEach is the number of partitions that are simulated and shown for each number of units.
const shownOfEach = 3

// Ranking holds partitions of the components of a model. Its Answer holds the self-check, the limits and the
// reasons why the ranking is withheld. Of the change in its question only the stores count.
type Ranking struct {
	Answer
	// All is the number of partitions there are. Partitions holds the cheapest of each number of units, and the
	// system as it is, the cheapest first.
	All        int
	Partitions []Partition
}

// Partition is one way to divide the components of a model into units.
type Partition struct {
	Groups [][]string // the components of each unit
	AsIs   bool       // it is the system as it is
	// CPU is the CPU time of an operation in seconds. Ratio is CPU / that of the system as it is.
	CPU, Ratio stats.Estimate
	Hops       float64 // calls of an operation between units
	// Median is the median response time in seconds; Withheld says why it has none.
	Median      stats.Estimate
	Withheld    string
	Busiest     string
	Utilization float64
	// Added holds the calls that cross units here but not in the partition before, Removed those that cross
	// only there.
	Added, Removed []lab.PredictedCrossing

	group []int // of each component
}

// Rank ranks every way to divide the components of a model into units by its CPU time. Of the question's
// change only the stores count.
func Rank(ctx context.Context, q Question) (Ranking, error) {
	r := Ranking{Answer: Answer{Question: q}}
	components := q.Model.Components()
	if n := len(components); n > MostComponents {
		return r, fmt.Errorf("the model has %d components: all partitions are ranked of up to %d; name the change "+
			"with --split or --merge", n, MostComponents)
	}
	// With all components apart every call crosses units: an error if a hop is unknown.
	units, err := Change{Split: slices.Collect(slices.Chunk(components, 1))}.Apply(q.Model)
	if err != nil {
		return r, err
	}
	asIs, _, err := r.prepare(ctx, units)
	if err != nil {
		return r, err
	}
	now, err := r.play(ctx, "as it is", asIs)
	if err != nil {
		return r, err
	}
	r.withhold(now)
	if len(r.Withheld) > 0 {
		return r, nil
	}
	r.choose(components)
	if err := r.estimate(components); err != nil {
		return r, err
	}
	return r, r.simulate(ctx)
}

// grouped returns the components of each group.
func grouped(components []string, group []int) [][]string {
	groups := make([][]string, slices.Max(group)+1)
	for i, c := range components {
		groups[group[i]] = append(groups[group[i]], c)
	}
	return groups
}

// eachPartition calls visit with every way to divide n things into groups, which are numbered in the order in
// which they appear (restricted growth strings: Knuth, volume 4A, section 7.2.1.5).
func eachPartition(n int, visit func(group []int, groups int)) {
	group := make([]int, n)
	var from func(i, groups int)
	from = func(i, groups int) {
		if i == n {
			visit(group, groups)
			return
		}
		for g := range groups + 1 {
			group[i] = g
			from(i+1, max(groups, g+1))
		}
	}
	from(0, 0)
}

// choose fills in the partitions: the cheapest of each number of units, and the system as it is.
func (r *Ranking) choose(components []string) {
	of := pricesOf(r.Question.rated(), components, r.Hop)
	partition := func(group []int) Partition {
		return Partition{Groups: grouped(components, group), group: slices.Clone(group), Hops: of.hops(group),
			CPU: stats.Estimate{Value: of.cpu(group)}}
	}
	now := make([]int, len(components))
	for i, c := range components {
		now[i] = r.Question.Model.UnitOf(c)
	}
	cheapest := func(a, b Partition) int { return cmp.Compare(a.CPU.Value, b.CPU.Value) }
	best := make([][]Partition, len(components)+1)
	eachPartition(len(components), func(group []int, groups int) {
		r.All++
		if slices.Equal(group, now) {
			return
		}
		kept := best[groups]
		full := len(kept) == shownOfEach
		if full && kept[shownOfEach-1].CPU.Value <= of.cpu(group) {
			return
		}
		kept = append(kept, partition(group))
		slices.SortStableFunc(kept, cheapest)
		best[groups] = kept[:min(len(kept), shownOfEach)]
	})
	asIs := partition(now)
	asIs.AsIs = true
	r.Partitions = append(slices.Concat(best...), asIs)
	slices.SortStableFunc(r.Partitions, cheapest)
	for i := range r.Partitions[1:] {
		before, p := r.Partitions[i], &r.Partitions[i+1]
		p.Added = of.crossOnly(p.group, before.group)
		p.Removed = of.crossOnly(before.group, p.group)
	}
}

// estimate gives the CPU times their intervals, from models that other samples might have given.
func (r *Ranking) estimate(components []string) error {
	q := r.Question
	asIs := r.Partitions[slices.IndexFunc(r.Partitions, func(p Partition) bool { return p.AsIs })]
	samples := make([]prices, replicateCount)
	used := q.used()
	for i := range samples {
		random := rand.New(rand.NewPCG(q.Seed+uint64(i)+1, 0))
		m := resampled(q.Model, random)
		hop := r.Hop.redrawn(random)
		samples[i] = pricesOf(m.AtRate(q.Rate, m.RatedCPU()), components, hop.at(used))
	}
	_, _, residual := worst(r.Checks)
	for i := range r.Partitions {
		p := &r.Partitions[i]
		var all sample
		for _, of := range samples {
			all.pairs = append(all.pairs, pair{asIs: figures{cpu: of.cpu(asIs.group)},
				changed: figures{cpu: of.cpu(p.group)}})
		}
		p.CPU = all.around(p.CPU.Value, func(p pair) float64 { return p.changed.cpu }, residual)
		p.Ratio = stats.Estimate{Value: 1, Low: 1, High: 1}
		if !p.AsIs {
			p.Ratio = all.around(p.CPU.Value/asIs.CPU.Value,
				func(p pair) float64 { return p.changed.cpu / p.asIs.cpu }, residual)
			p.CPU = q.Past.Widened(FigureCPU, p.CPU)
			p.Ratio = q.Past.Widened(FigureCPU, p.Ratio)
		}
		if all.err != nil {
			return fmt.Errorf("partition %s: %w", p.Placement(), all.err)
		}
	}
	return nil
}

// simulate fills in the response times, each from one simulation.
func (r *Ranking) simulate(ctx context.Context) error {
	q := r.Question
	residual, _, _ := worst(r.Checks)
	rated := withStores(q.rated(), r.StoreFactorAtRate)
	for i := range r.Partitions {
		p := &r.Partitions[i]
		units := q.Model.Units
		at := q.site(SharedStores, r.Hop)
		if !p.AsIs {
			at.stores = q.Change.Stores
			var err error
			if units, err = (Change{Split: p.moved(units)}).Apply(q.Model); err != nil {
				return err
			}
		}
		placed, err := place(rated, units, at)
		if err != nil {
			return err
		}
		f, err := placed.play(ctx, q.Rate, q.Operations/2, q.Seed)
		switch {
		case overloaded(err):
			p.Withheld = "overloaded"
			continue
		case err != nil:
			return err
		case f.utilization > MostUsed:
			p.Withheld = "used too far"
		}
		p.Busiest = f.busiest
		p.Utilization = f.utilization
		p.Median = stats.Estimate{Value: f.median, Low: f.median / (1 + residual), High: f.median * (1 + residual)}
		if !p.AsIs {
			p.Median = q.Past.Widened(FigureMedian, p.Median)
		}
	}
	return nil
}

// moved returns the groups that are not units already.
func (p Partition) moved(units []model.Unit) [][]string {
	return slices.DeleteFunc(slices.Clone(p.Groups), func(group []string) bool {
		return slices.ContainsFunc(units, func(u model.Unit) bool { return isUnit(u, group) })
	})
}

// Placement writes the units as --split reads them.
func (p Partition) Placement() string {
	var all []string
	for _, group := range p.Groups {
		all = append(all, strings.Join(group, "+"))
	}
	return strings.Join(all, ",")
}

// prices holds the CPU time of an operation without calls between units, and what the calls between
// components add if they cross units.
type prices struct {
	own   float64 // CPU seconds
	cross []priced
}

// priced is a crossing with the indices of both components.
type priced struct {
	lab.PredictedCrossing
	from, to int
}

// pricesOf returns the prices of a model. defaultHop is the hop of calls for which it has none.
func pricesOf(m model.Model, components []string, defaultHop *Hop) (p prices) {
	weights := m.Weights()
	servers := map[string]bool{}
	for _, s := range m.Stores {
		servers[s.Name] = s.Server
	}
	var add func(c *model.Call, caller string, times float64)
	add = func(c *model.Call, caller string, times float64) {
		p.own += times * (c.CPU.Seconds() + c.Background.Seconds())
		for _, v := range c.Visits {
			if servers[v.Store] {
				p.own += times * v.CPU.Seconds()
			}
		}
		if caller != "" && caller != c.Component {
			p.add(c, caller, components, times, defaultHop)
		}
		for i := range c.Calls {
			add(&c.Calls[i], c.Component, times*c.Calls[i].Count)
		}
	}
	for i := range m.Operations {
		add(&m.Operations[i].Call, "", m.Operations[i].Weight/weights)
	}
	return p
}

// add adds a call of a component by another.
func (p *prices) add(c *model.Call, caller string, components []string, times float64, defaultHop *Hop) {
	hop := 0.0
	switch {
	case c.Hop != nil:
		hop = c.Hop.CPU.Seconds()
	case defaultHop != nil:
		hop = defaultHop.CPU
	}
	from := slices.Index(components, caller)
	to := slices.Index(components, c.Component)
	i := slices.IndexFunc(p.cross, func(of priced) bool { return of.from == from && of.to == to })
	if i < 0 {
		i = len(p.cross)
		p.cross = append(p.cross, priced{lab.PredictedCrossing{From: caller, To: c.Component}, from, to})
	}
	p.cross[i].Calls += times
	p.cross[i].CPU += times * hop
}

// cpu returns the CPU time of an operation with these groups, in seconds.
func (p prices) cpu(group []int) float64 {
	sum := p.own
	for _, c := range p.cross {
		if group[c.from] != group[c.to] {
			sum += c.CPU
		}
	}
	return sum
}

// hops returns the calls of an operation between these groups.
func (p prices) hops(group []int) (sum float64) {
	for _, c := range p.cross {
		if group[c.from] != group[c.to] {
			sum += c.Calls
		}
	}
	return sum
}

// crossOnly returns the calls that cross these groups and not the others.
func (p prices) crossOnly(group, others []int) (all []lab.PredictedCrossing) {
	for _, c := range p.cross {
		if group[c.from] != group[c.to] && others[c.from] == others[c.to] {
			all = append(all, c.PredictedCrossing)
		}
	}
	return all
}
