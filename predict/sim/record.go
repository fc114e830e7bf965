package sim

// Result holds what was recorded after the warm-up. Lists by batch have one value for each complete batch, an
// average over its time where nothing else is said.
type Result struct {
	Events     uint64  // of the whole simulation, warm-up included
	Seconds    float64 // simulated and recorded
	Operations []OperationResult
	All        OperationResult // all operations together
	Processors []ProcessorResult
	Units      []UnitResult
	Pools      []PoolResult
	// BatchSeconds is how long each batch took.
	BatchSeconds []float64
	// InProgress is how many operations were in progress, by batch.
	InProgress []float64
	// Started, Completed and Failed count the operations of the whole simulation, warm-up included; Left is how
	// many were in progress at its end.
	Started, Completed, Failed uint64
	Left                       int
}

// OperationResult is about the operations of one kind. Those that failed, since a queue was full, count in
// Failed alone.
type OperationResult struct {
	Times   Histogram // from the arrival to the answer
	Batches []OperationBatch
}

// OperationBatch is one batch of an operation.
type OperationBatch struct {
	Completed, Failed uint64
	Mean              float64            // of the response time, in seconds
	Quantiles         []float64          // those of the options, in seconds
	Parts             [MostParts]float64 // mean seconds of each part; together they are Mean
}

// ProcessorResult says how many cores were busy, by batch.
type ProcessorResult struct{ Busy []float64 }

// UnitResult says how much CPU time the tasks of a unit have asked for.
type UnitResult struct {
	Cores []float64          // CPU seconds per second, by batch
	CPU   [MostParts]float64 // CPU seconds of each part
}

// PoolResult says how many places were taken and how many tasks waited for one, by batch.
type PoolResult struct {
	Used, Waiting  []float64
	Taken, Refused uint64
}

// tally is an operation in the batch that is under way.
type tally struct {
	times  Histogram
	sum    float64
	parts  [MostParts]float64
	failed uint64
}

// recorder counts what operations ended, and closes a batch after so many.
type recorder struct {
	options  Options
	warm     bool // the warm-up is over
	left     int  // operations until the batch ends, or the warm-up
	done     bool
	since    float64 // when the number of operations in progress changed
	began    float64 // when the batch began
	progress int
	area     float64 // operations in progress times seconds
	tallies  []tally // of each operation, and of all
	result   Result
}

func newRecorder(options Options, operations int, s *simulation) recorder {
	r := recorder{options: options, left: options.WarmUp, warm: options.WarmUp == 0,
		tallies: make([]tally, operations+1),
		result: Result{Operations: make([]OperationResult, operations),
			Processors: make([]ProcessorResult, len(s.processors)), Units: make([]UnitResult, len(s.used)),
			Pools: make([]PoolResult, len(s.pools))},
	}
	if r.warm {
		r.left = options.PerBatch
	}
	return r
}

// begin counts an operation that has arrived.
func (r *recorder) begin(now float64) {
	r.advance(now)
	r.progress++
	r.result.Started++
}

func (r *recorder) advance(now float64) {
	r.area += (now - r.since) * float64(r.progress)
	r.since = now
}

// complete counts an operation that has ended.
func (r *recorder) complete(s *simulation, t *task) {
	r.advance(s.now)
	r.progress--
	if t.failed {
		r.result.Failed++
	} else {
		r.result.Completed++
	}
	if r.warm {
		r.tallies[t.operation].add(t, s.now)
		r.tallies[len(r.tallies)-1].add(t, s.now)
	}
	if r.left--; r.left > 0 {
		return
	}
	if r.warm {
		r.close(s.now)
	}
	r.read(s, r.warm)
	r.warm, r.began, r.area, r.left = true, s.now, 0, r.options.PerBatch
	r.done = len(r.result.BatchSeconds) == r.options.Batches
}

func (t *tally) add(ended *task, now float64) {
	if ended.failed {
		t.failed++
		return
	}
	seconds := now - ended.began
	t.times.add(seconds)
	t.sum += seconds
	for i, part := range ended.spent {
		t.parts[i] += part
	}
}

// close adds the batch to the results of the operations.
func (r *recorder) close(now float64) {
	passed := now - r.began
	r.result.Seconds += passed
	r.result.BatchSeconds = append(r.result.BatchSeconds, passed)
	r.result.InProgress = append(r.result.InProgress, r.area/passed)
	for i := range r.tallies {
		of := &r.result.All
		if i < len(r.result.Operations) {
			of = &r.result.Operations[i]
		}
		of.Batches = append(of.Batches, r.tallies[i].batch(r.options.Quantiles))
		of.Times.take(&r.tallies[i].times)
		r.tallies[i] = tally{times: r.tallies[i].times}
	}
}

// batch returns what the tally says.
func (t *tally) batch(quantiles []float64) OperationBatch {
	b := OperationBatch{Completed: t.times.Count, Failed: t.failed}
	if b.Completed == 0 {
		return b
	}
	n := float64(b.Completed)
	b.Mean = t.sum / n
	for i := range b.Parts {
		b.Parts[i] = t.parts[i] / n
	}
	for _, p := range quantiles {
		b.Quantiles = append(b.Quantiles, t.times.Quantile(p))
	}
	return b
}

// read takes the readings of processors, units and pools back to 0, and keeps them as those of a batch.
func (r *recorder) read(s *simulation, keep bool) {
	passed := s.now - r.began
	busy := make([]float64, len(s.processors))
	for i := range s.shares {
		sh := &s.shares[i]
		sh.advance(s.now)
		busy[sh.processor] += sh.busy
		sh.busy = 0
	}
	for i := range s.processors {
		if keep {
			r.result.Processors[i].Busy = append(r.result.Processors[i].Busy, busy[i]/passed)
		}
	}
	for i := range s.used {
		if keep {
			r.result.Units[i].keep(s.used[i], passed)
		}
		s.used[i] = [MostParts]float64{}
	}
	for i := range s.pools {
		p := &s.pools[i]
		p.advance(s.now)
		if keep {
			r.result.Pools[i].keep(p, passed)
		}
		p.usedTime, p.waitingTime, p.taken, p.refused = 0, 0, 0, 0
	}
}

func (u *UnitResult) keep(used [MostParts]float64, passed float64) {
	sum := 0.0
	for i, seconds := range used {
		u.CPU[i] += seconds
		sum += seconds
	}
	u.Cores = append(u.Cores, sum/passed)
}

func (p *PoolResult) keep(of *pool, passed float64) {
	p.Used = append(p.Used, of.usedTime/passed)
	p.Waiting = append(p.Waiting, of.waitingTime/passed)
	p.Taken += of.taken
	p.Refused += of.refused
}

// result returns what was recorded, complete batches only.
func (s *simulation) result() Result {
	r := s.record.result
	r.Events, r.Left = s.events, s.record.progress
	return r
}
