package sim

// task is a program that is being carried out. All of the time that it has spent is divided into parts. Of
// calls at the same time, only the parts of the call that ended last count: the caller waited for that one.
type task struct {
	at        int32 // the next step
	parent    int32 // the caller that waits, or none
	next      int32 // the next task in the queue of a pool, or in the list of free tasks
	operation int32 // of a task that a load has started; else none
	load      int32
	calls     int32   // calls that have not ended
	repeats   int32   // further calls in the present sequence
	began     float64 // of the operation
	since     float64 // when it began to wait, or to use the processor
	demand    float64 // of CPU time
	spent     [MostParts]float64
}

// newTask returns a task that will begin at a step.
func (s *simulation) newTask(start, parent int32) int32 {
	t := s.free
	if t == none {
		t = int32(len(s.tasks))
		s.tasks = append(s.tasks, task{})
	} else {
		s.free = s.tasks[t].next
	}
	s.tasks[t] = task{at: start, parent: parent, operation: none}
	s.inProgress++
	return t
}

func (s *simulation) freeTask(t int32) {
	s.tasks[t].next = s.free
	s.free = t
	s.inProgress--
}

// run carries out a task, and all others that can go on because of it, until all of them wait for something.
func (s *simulation) run(t int32) {
	s.ready = append(s.ready[:0], t)
	for i := 0; i < len(s.ready); i++ {
		for t := s.ready[i]; t != none; {
			t = s.carryOut(t)
		}
	}
}

// carryOut carries out one step of a task and returns the task that goes on, or none where it has to wait.
func (s *simulation) carryOut(t int32) int32 {
	task := &s.tasks[t]
	step := &s.steps[task.at]
	switch step.action {
	case work:
		task.demand = step.duration.draw(&s.random)
		task.since = s.now
		s.used[step.target][step.part] += task.demand
		s.use(t, step.more, task.demand) // more is the unit's share of its processor
		return none
	case wait:
		passes := step.duration.draw(&s.random)
		task.spent[step.part] += passes
		task.at++
		s.timers.push(s.now+passes, t)
		return none
	case acquire:
		task.since = s.now
		if !s.take(step.target, t) {
			return none
		}
		task.at++
	case release:
		task.at++
		s.give(step.target)
	case call:
		return s.call(t, step)
	case fork:
		return s.fork(t, step)
	case spawn:
		task.at++
		s.start(step, none)
	case end:
		return s.end(t)
	}
	return t
}

// worked ends the use of a processor.
func (s *simulation) worked(t int32) {
	task := &s.tasks[t]
	step := &s.steps[task.at]
	task.spent[step.part] += task.demand
	task.spent[step.queue] += s.now - task.since - task.demand
	task.at++
}

// count returns how many calls of a branch this task makes.
func (s *simulation) count(b *branch) int32 {
	if b.fraction > 0 && s.random.uniform() < b.fraction {
		return b.calls + 1
	}
	return b.calls
}

// call begins the first of the calls in sequence.
func (s *simulation) call(t int32, step *step) int32 {
	branch := &s.branches[step.target]
	n := s.count(branch)
	task := &s.tasks[t]
	if n == 0 {
		task.at++
		return t
	}
	task.calls = 1
	task.repeats = n - 1
	return s.newTask(branch.start, t)
}

// fork begins calls at the same time.
func (s *simulation) fork(t int32, step *step) int32 {
	n := s.start(step, t)
	task := &s.tasks[t]
	if task.calls = n; n == 0 {
		task.at++
		return t
	}
	return none
}

// start makes a task ready for every call of a step, and returns how many.
func (s *simulation) start(step *step, parent int32) (started int32) {
	for b := step.target; b < step.target+step.more; b++ { // more is the number of branches
		for range s.count(&s.branches[b]) {
			s.ready = append(s.ready, s.newTask(s.branches[b].start, parent))
			started++
		}
	}
	return started
}

// end ends a task. Its caller goes on if it was the last call that this one waited for.
func (s *simulation) end(t int32) int32 {
	ended := &s.tasks[t]
	parent := ended.parent
	if parent == none {
		if ended.operation != none {
			s.complete(ended)
		}
		s.freeTask(t)
		return none
	}
	caller := &s.tasks[parent]
	if caller.calls--; caller.calls > 0 {
		s.freeTask(t)
		return none
	}
	for i, seconds := range ended.spent {
		caller.spent[i] += seconds
	}
	s.freeTask(t)
	if caller.repeats > 0 {
		caller.calls = 1
		caller.repeats--
		return s.newTask(s.branches[s.steps[caller.at].target].start, parent)
	}
	caller.at++
	return parent
}
