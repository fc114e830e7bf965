package sim

// Result holds what was recorded after the warm-up. Lists by batch have one value for each complete batch: an
// average over its time, unless the field says otherwise.
type Result struct {
	Events     uint64  // of the whole simulation, warm-up included
	Seconds    float64 // simulated and recorded
	Operations []OperationResult
	All        OperationResult // all operations together
	Processors []ProcessorResult
	Units      []UnitResult
	Pools      []PoolResult
	// BatchSeconds is the length of each batch.
	BatchSeconds []float64
	// InProgress is the number of operations in progress, by batch.
	InProgress []float64
	// Started and Completed count the operations of the whole simulation, warm-up included; Left is the number
	// in progress at its end.
	Started, Completed uint64
	Left               int
}

// OperationResult holds the results of the operations of one kind.
type OperationResult struct {
	Times   Histogram // from the arrival to the answer
	Batches []OperationBatch
}

// OperationBatch is one batch of an operation.
type OperationBatch struct {
	Completed uint64
	Mean      float64            // of the response time, in seconds
	Quantiles []float64          // those of the options, in seconds
	Parts     [MostParts]float64 // mean seconds of each part; together they are Mean
}

// ProcessorResult holds the number of busy cores, by batch.
type ProcessorResult struct{ Busy []float64 }

// UnitResult holds the CPU time that the tasks of a unit have asked for.
type UnitResult struct {
	Cores []float64          // CPU seconds per second, by batch
	CPU   [MostParts]float64 // CPU seconds of each part
}

// PoolResult holds the number of taken places and of tasks that waited for one, by batch.
type PoolResult struct{ Used, Waiting []float64 }

// tally adds up the operations of one kind that ended in the present batch.
type tally struct {
	times Histogram
	sum   float64 // of the response times, in seconds
	parts [MostParts]float64
}

// recorder counts the operations that have ended, and closes a batch after Options.PerBatch of them.
type recorder struct {
	options  Options
	warm     bool // the warm-up is over
	left     int  // operations until the batch ends, or the warm-up
	done     bool
	since    float64 // when the number of operations in progress last changed
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
	r.result.Completed++
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
	r.takeCounters(s, r.warm)
	r.warm = true
	r.began = s.now
	r.area = 0
	r.left = r.options.PerBatch
	r.done = len(r.result.BatchSeconds) == r.options.Batches
}

func (t *tally) add(ended *task, now float64) {
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
		r.tallies[i] = tally{times: r.tallies[i].times} // take has emptied times; its memory is used again
	}
}

// batch returns the tally as a batch.
func (t *tally) batch(quantiles []float64) OperationBatch {
	b := OperationBatch{Completed: t.times.Count}
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

// takeCounters sets the counters of processors, units and pools back to 0. If keep is set, it first adds them
// to the results as those of a batch.
func (r *recorder) takeCounters(s *simulation, keep bool) {
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
			to := &r.result.Pools[i]
			to.Used = append(to.Used, p.usedTime/passed)
			to.Waiting = append(to.Waiting, p.waitingTime/passed)
		}
		p.usedTime = 0
		p.waitingTime = 0
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

// result returns what was recorded, complete batches only.
func (s *simulation) result() Result {
	r := s.record.result
	r.Events = s.events
	r.Left = s.record.progress
	return r
}
