package profiler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

func TestOnlyUnitsThatCanBeProfiledAreInstrumented(t *testing.T) {
	before := lab.Layout{Units: []lab.UnitSpec{
		{Name: "generator", Runnable: lab.Runnable{Program: "/bin/cleave"}},
		{Name: "ours", Runnable: lab.Runnable{Own: "airline", Env: []string{"A=1"}}},
		{
			Name: "theirs",
			Runnable: lab.Runnable{
				Foreign: true, Program: "node", Env: []string{"NODE_OPTIONS=--max-old-space-size=64"},
				Files: map[string][]byte{"key": []byte("k")},
			},
		},
		{Name: "database", Runnable: lab.Runnable{Foreign: true, Server: &lab.Server{}}},
		{Name: "containers", Runnable: lab.Runnable{Foreign: true, Compose: &lab.Compose{}}},
		{Name: "service", Runnable: lab.Runnable{Foreign: true,
			Container: &lab.ContainerSpec{Env: []string{"A=1"}}}},
		{Name: "job", Runnable: lab.Runnable{Foreign: true, Container: &lab.ContainerSpec{}},
			Lifecycle: lab.Lifecycle{Finishes: true}},
	}}
	after := Profiler{}.Instrument(before)
	for _, i := range []int{0, 3, 4} {
		if got := after.Units[i]; len(got.Env) > 0 || len(got.Files) > 0 || got.Leaves != "" {
			t.Errorf("%s is instrumented: %v", got.Name, got.Env)
		}
	}
	if got, want := after.Units[1].Env, []string{"A=1",
		"CLEAVE_PROFILE={dir}/ours.profile.pprof"}; !slices.Equal(got, want) {
		t.Errorf("a unit of ours gets %q, want %q", got, want)
	}
	theirs := after.Units[2]
	if want := "NODE_OPTIONS=--max-old-space-size=64 --require={dir}/profiler.cjs"; theirs.Env[0] != want ||
		theirs.Leaves != folder {
		t.Errorf("a foreign unit gets %q and leaves %q, want %q", theirs.Env, theirs.Leaves, want)
	}
	if !strings.HasPrefix(theirs.Env[1], "JAVA_TOOL_OPTIONS=") || string(theirs.Files["key"]) != "k" ||
		theirs.Files[nodeFile] == nil {
		t.Errorf("a foreign unit gets %q and the files %v", theirs.Env, slices.Sorted(maps.Keys(theirs.Files)))
	}
	service := after.Units[5]
	if c := service.Container; service.Leaves != folder || len(service.Env)+len(service.Files) > 0 ||
		!slices.Contains(c.Env, "NODE_OPTIONS=--require=/cleave-profiler/profiler.cjs") || len(c.Mounts) != 2 ||
		c.Mounts[0].Files[nodeFile] == "" || c.Mounts[1].Kind != lab.MountLeaves {
		t.Errorf("a container gets %+v and leaves %q", c, service.Leaves)
	}
	if job := after.Units[6]; len(job.Container.Mounts) > 0 || len(before.Units[5].Container.Mounts) > 0 {
		t.Error("a job, or the layout itself, was changed")
	}
	if len(before.Units[2].Files) != 1 || len(before.Units[1].Env) != 1 {
		t.Error("the layout itself was changed")
	}
}

func TestLayersOfPackages(t *testing.T) {
	own := []string{"cleave.airline", "example.org/shop"}
	for name, want := range map[string]lab.Layer{
		"cleave.airline.store.Database":                lab.LayerApplication,
		"cleave.airlines.Other":                        "",
		"com.fasterxml.jackson.core.JsonParser":        lab.LayerJSON,
		"org.eclipse.jetty.http.HttpParser":            lab.LayerHTTP,
		"org.eclipse.jetty.server.internal.HttpStream": lab.LayerServer,
		"java.sql.DriverManager":                       lab.LayerStore,
		"java.util.HashMap":                            lab.LayerRuntime,
	} {
		if got, _ := layerOf(name, own, javaRules()); got != want {
			t.Errorf("%s is of the layer %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]lab.Layer{
		"net/http.(*conn).serve":                             lab.LayerHTTP,
		"encoding/json.Marshal":                              lab.LayerJSON,
		"go.etcd.io/bbolt.(*Bucket).Get":                     lab.LayerStore,
		"example.org/shop/orders.Create":                     lab.LayerApplication,
		"main.main":                                          lab.LayerApplication,
		"github.com/someone/thing.Do":                        lab.LayerLibraries,
		"strings.Index":                                      lab.LayerRuntime,
		"vendor/golang.org/x/net/http/httpguts.ValidHeader1": lab.LayerHTTP,
	} {
		if got, native := layerOfGo([]string{name}, own, goRules()); got != want || native {
			t.Errorf("%s is of the layer %q (native: %t), want %q", name, got, native, want)
		}
	}
	if got, native := layerOfGo([]string{"internal/runtime/syscall/linux.Syscall6", "net.(*conn).Write"}, own,
		goRules()); got != lab.LayerRuntime || !native {
		t.Errorf("a system call is of the layer %q, native: %t", got, native)
	}
	if got, _ := layerOfGo([]string{"runtime.scanobject", "runtime.gcBgMarkWorker"}, own,
		goRules()); got != lab.LayerCollector {
		t.Errorf("the collector is of the layer %q", got)
	}
	for url, want := range map[string]lab.Layer{
		"file:///srv/app/main.js":                                 lab.LayerApplication,
		"file:///srv/node_modules/fastify/lib/reply.js":           lab.LayerServer,
		"/srv/node_modules/undici/lib/dispatcher/client-h1.js":    lab.LayerHTTP,
		"/srv/node_modules/a/node_modules/lmdb/dist/index.cjs":    lab.LayerStore,
		"/srv/node_modules/fast-json-stringify/lib/serializer.js": lab.LayerJSON,
		"/srv/node_modules/pgp/index.js":                          lab.LayerLibraries,
		"node:_http_server":                                       lab.LayerHTTP,
		"node:internal/stream_base_commons":                       lab.LayerRuntime,
	} {
		if got := layerOfModule(url, nil, nodeRules()); got != want {
			t.Errorf("%s is of the layer %q, want %q", url, got, want)
		}
	}
}

// v8 returns a profile with a stack of main.js, fastify and a native function. ids are the nodes that were
// sampled, one per millisecond.
func v8(t *testing.T, began time.Time, ids ...int) []byte {
	t.Helper()
	node := func(id int, function, url string, children ...int) map[string]any {
		return map[string]any{"id": id, "callFrame": v8Frame{function, url}, "children": children}
	}
	deltas := make([]int, len(ids))
	for i := range deltas {
		deltas[i] = 1000
	}
	data, err := json.Marshal(map[string]any{
		"nodes": []any{
			node(1, "(root)", "", 2, 5, 6, 7), node(2, "handle", "file:///a/main.js", 3),
			node(3, "send", "/a/node_modules/fastify/reply.js", 4, 8),
			node(4, "writeUtf8String", ""), node(5, "(idle)", ""), node(6, "(garbage collector)", ""),
			node(7, "(program)", ""), node(8, "stringify", ""),
		},
		"samples": ids, "timeDeltas": deltas, "began": began.UnixMilli(),
	})
	testset.Must(t, err)
	return data
}

func TestSamplesOfNodeAreChargedToWhoCallsNativeCode(t *testing.T) {
	began := time.UnixMilli(1_800_000_000_000)
	s, err := read("1.cpuprofile", v8(t, began, 2, 3, 4, 4, 5, 6, 7, 8), nil, began, began.Add(time.Second))
	testset.Must(t, err)
	want := map[lab.Layer]float64{lab.LayerApplication: 1000, lab.LayerServer: 3000, lab.LayerCollector: 1000,
		lab.LayerRuntime: 1000, lab.LayerJSON: 1000}
	native := map[lab.Layer]float64{lab.LayerServer: 2000, lab.LayerRuntime: 1000}
	if s.count != 7 || !maps.Equal(s.all, want) || !maps.Equal(s.native, native) {
		t.Errorf("%d samples %v, native %v; want %v, native %v", s.count, s.all, s.native, want, native)
	}
	if s, err = read("1.cpuprofile", v8(t, began, 2, 3, 3, 3), nil, began.Add(1500*time.Microsecond),
		began.Add(3*time.Millisecond)); err != nil || s.count != 2 {
		t.Errorf("%d samples are in the window (%v), want those after 2 and 3 ms", s.count, err)
	}
}

func TestTimeIsDividedAsTheMeterSawIt(t *testing.T) {
	s := newSamples(runtimeNode)
	s.add(lab.LayerApplication, 30, false)
	s.add(lab.LayerHTTP, 30, false)
	s.add(lab.LayerRuntime, 40, true)
	own := []lab.ThreadUse{
		{Role: "shop", First: true, Name: "node", UserSeconds: 8, SystemSeconds: 2},
		{Role: "shop", Name: "node", UserSeconds: 2},
		{Role: "shop", Name: "v8:ProfEvntProc", UserSeconds: 1}, {Role: "other", First: true, UserSeconds: 9},
	}
	got := divide(s, threadsOf(runtimeNode, "shop", own), 26)
	// The kernel's 2 s of 10 are half of what was seen of native code: 20 of 100 samples are left of it.
	want := map[lab.Layer]float64{lab.LayerKernel: 4, lab.LayerUnseen: 4, lab.LayerApplication: 6,
		lab.LayerHTTP: 6, lab.LayerRuntime: 4}
	for _, layer := range lab.Layers() {
		if math.Abs(got[layer]-want[layer]) > 1e-9 {
			t.Errorf("%s has %g s, want %g", layer, got[layer], want[layer])
		}
	}
	jvm := threadsOf(runtimeJava, "shop", []lab.ThreadUse{
		{Role: "shop", Name: "qtp-31", UserSeconds: 3, SystemSeconds: 1},
		{Role: "shop", Name: "C2 CompilerThre", UserSeconds: 5},
		{Role: "shop", Name: "GC Thread#0", UserSeconds: 2},
		{Role: "shop", Name: "ZWorkerYoung#0", UserSeconds: 1},
		{Role: "shop", Name: "ZDriverMajor", UserSeconds: 1},
		{Role: "shop", Name: "Monitor Deflati", UserSeconds: 7},
		{Role: "shop", Name: "JFR Recorder Th", UserSeconds: 1},
	})
	if jvm.user != 3 || jvm.system != 1 || jvm.profiler != 1 || jvm.others[lab.LayerCompiler] != 5 ||
		jvm.others[lab.LayerCollector] != 4 || jvm.others[lab.LayerUnseen] != 7 {
		t.Errorf("threads of a JVM: %+v", jvm)
	}
}

// TestNothingIsMadeOfNothing: the layers add up to the metered time even if there are no threads, or they
// only ran in the kernel or in native code.
func TestNothingIsMadeOfNothing(t *testing.T) {
	s := newSamples(runtimeGo)
	s.add(lab.LayerRuntime, 1, true)
	for name, threads := range map[string]threads{"no threads": {}, "only in the kernel": {system: 1},
		"native code in user mode": {user: 1}} {
		var sum float64
		for _, seconds := range divide(s, threads, 2) {
			sum += seconds
		}
		if math.Abs(sum-2) > 1e-9 {
			t.Errorf("%s: %g s are divided, want 2", name, sum)
		}
	}
}

// TestRolesWithAndWithoutProfiles: a role without a profile says why, and a broken profile is an error.
func TestRolesWithAndWithoutProfiles(t *testing.T) {
	dir := t.TempDir()
	began := time.UnixMilli(1_800_000_000_000)
	write := func(name string, data []byte) {
		testset.Must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	write("shop.7.cpuprofile", v8(t, began, 2, 2, 4, 4))
	write("shop.history.jsonl", []byte("{}"))
	layout := lab.Layout{Units: []lab.UnitSpec{{
		Name: "shop", Role: "shop",
		Runnable: lab.Runnable{Foreign: true},
	},
		{Name: "db", Role: "database", Runnable: lab.Runnable{Foreign: true}}}}
	seen := lab.ProfiledWindow{Began: began, Ended: began.Add(time.Second), Dir: dir,
		Metered: lab.Metered{Roles: map[string]lab.Usage{
			"shop": {CPUSeconds: 2}, "database": {CPUSeconds: 3}, "front": {CPUSeconds: 1},
			lab.RoleGenerator: {CPUSeconds: 4}}},
		Threads: []lab.ThreadUse{{Role: "shop", First: true, UserSeconds: 1, SystemSeconds: 1}}}
	all, err := Profiler{}.Layers(layout, lab.Profiling{Apart: []string{"front"}}, seen)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if db := all[0]; db.Role != "database" || db.Runtime != "" || db.Unsampled != noSamples ||
		db.Seconds[lab.LayerUnseen] != 3 {
		t.Errorf("the database: %+v", db)
	}
	if shop := all[1]; shop.Runtime != runtimeNode || shop.Samples != 4 || shop.Seconds[lab.LayerKernel] != 1 ||
		shop.Seconds[lab.LayerApplication] != 1 {
		t.Errorf("the shop: %+v", shop)
	}
	later := seen
	later.Began = began.Add(time.Minute)
	later.Ended = began.Add(2 * time.Minute)
	all, err = Profiler{}.Layers(layout, lab.Profiling{Apart: []string{"front"}}, later)
	if err != nil || !strings.Contains(all[1].Unsampled, "used hardly any CPU time") {
		t.Errorf("a shop that was idle during the load: %+v, %v", all, err)
	}
	layout.Units = append(layout.Units, lab.UnitSpec{
		Name: "shop.7", Role: "other",
		Runnable: lab.Runnable{Foreign: true},
	})
	all, err = Profiler{}.Layers(layout, lab.Profiling{Apart: []string{"front"}}, seen)
	if err != nil || all[1].Samples != 0 {
		t.Errorf("a file of the unit shop.7 counts for the shop, too: %+v, %v", all[1], err)
	}
	write("shop.8.cpuprofile", []byte("{"))
	if _, err := (Profiler{}).Layers(layout, lab.Profiling{}, seen); err == nil ||
		!strings.Contains(err.Error(), "shop.8.cpuprofile of unit shop") {
		t.Errorf("a broken profile: %v", err)
	}
	left := filepath.Join(seen.Dir, "shop.8.cpuprofile")
	testset.Must(t, os.Remove(left))
	testset.Must(t, os.Symlink("/etc/passwd", left))
	if _, err := (Profiler{}).Layers(layout, lab.Profiling{}, seen); err == nil ||
		!strings.Contains(err.Error(), "it is no regular file") {
		t.Errorf("a link that leads out of the folder is followed: %v", err)
	}
}

// TestProgramsThatWereSampledFromOutside: the module of a program is the application's own code.
func TestProgramsThatWereSampledFromOutside(t *testing.T) {
	seen := lab.ProfiledWindow{
		Dir: t.TempDir(), Metered: lab.Metered{Roles: map[string]lab.Usage{"shop": {CPUSeconds: 10},
			"other": {CPUSeconds: 1}}}, Unsampled: "no leave",
		Threads: []lab.ThreadUse{{Role: "shop", UserSeconds: 8, SystemSeconds: 2},
			{Role: "other", UserSeconds: 3, SystemSeconds: 1}},
		Programs: []lab.ProgramSamples{{Unit: "shop", Role: "shop", Own: "example.com/shop",
			Stacks: []lab.SampledStack{
				{Functions: []string{"example.com/shop/cart.Add", "main.main"}, Count: 30},
				{Functions: []string{"encoding/json.Marshal", "main.main"}, Count: 20},
				{Functions: []string{"example.com/other.Do"}, Count: 20},
				{Count: 10}, // a library in C
				{Functions: []string{"internal/runtime/syscall/linux.Syscall6", "os.(*File).Write"}, Kernel: true,
					Count: 20},
			}}},
	}
	all, err := (Profiler{}).Layers(lab.Layout{Units: []lab.UnitSpec{{
		Name: "shop", Role: "shop",
		Runnable: lab.Runnable{Foreign: true},
	}}}, lab.Profiling{}, seen)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if other := all[0]; other.Unsampled != "no leave" || other.Runtime != "" ||
		other.Seconds[lab.LayerKernel] != 0.25 || other.Seconds[lab.LayerUnseen] != 0.75 {
		t.Errorf("what was not sampled: %+v", other)
	}
	shop := all[1]
	want := map[lab.Layer]float64{lab.LayerApplication: 3, lab.LayerJSON: 2, lab.LayerLibraries: 3,
		lab.LayerKernel: 2}
	if shop.Runtime != runtimeGo || shop.Samples != 100 || shop.Unsampled != "" {
		t.Errorf("the shop: %+v", shop)
	}
	for layer, seconds := range want {
		if got := shop.Seconds[layer]; math.Abs(got-seconds) > 1e-9 {
			t.Errorf("%s has %g s, want %g", layer, got, seconds)
		}
	}
}

// TestAGoHelperBesideJava checks that the samples of a program in Java divide only the time of its own
// threads.
func TestAGoHelperBesideJava(t *testing.T) {
	s := newSamples(runtimeJava)
	s.add(lab.LayerApplication, 1, false)
	seen := lab.ProfiledWindow{
		Threads: []lab.ThreadUse{{Role: "shop", ID: "1/1", UserSeconds: 6},
			{Role: "shop", ID: "2/2", UserSeconds: 2}},
		Programs: []lab.ProgramSamples{{Role: "shop", Threads: []string{"2/2"},
			Stacks: []lab.SampledStack{{Functions: []string{"net/http.Serve"}, Count: 1}}}},
	}
	got := layersOf(s, "shop", lab.Profiling{}, seen, 16)
	if want := map[lab.Layer]float64{lab.LayerApplication: 12, lab.LayerHTTP: 4}; !maps.Equal(got, want) {
		t.Errorf("its time is divided into %v, want %v", got, want)
	}
}

// TestAProgramWithoutAModuleIsSampled: its own code is in package main.
func TestAProgramWithoutAModuleIsSampled(t *testing.T) {
	s := sampled("shop", []lab.ProgramSamples{{Role: "shop", Stacks: []lab.SampledStack{
		{Functions: []string{"main.work"}, Count: 2}, {Functions: []string{"net/http.Serve"}, Count: 1},
	}}}, nil)
	if s.all[lab.LayerApplication] != 2 || s.all[lab.LayerHTTP] != 1 || s.count != 3 {
		t.Errorf("%d samples: %v", s.count, s.all)
	}
}

// TestWhoMayNotSampleHasNoSampling checks that Sample returns nil with an error if this user may not sample.
// An interface that holds a nil pointer would not be nil.
func TestWhoMayNotSampleHasNoSampling(t *testing.T) {
	sampling, err := (Profiler{}).Sample(lab.Layout{Units: []lab.UnitSpec{{
		Runnable: lab.Runnable{Foreign: true},
	}}})
	if (sampling == nil) != (err != nil) {
		t.Fatalf("sampling %v, error %v", sampling, err)
	}
	if err == nil {
		sampling.End(nil)
	}
}

// processorTime returns the CPU time that this process has used so far.
func processorTime(t *testing.T) time.Duration {
	var used syscall.Rusage
	testset.Must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func TestAProfileOfGoIsRead(t *testing.T) {
	var profile bytes.Buffer
	testset.Must(t, pprof.StartCPUProfile(&profile))
	text := strings.Repeat("<&>", 1000)
	// Under the race detector a tenth of the samples are JSON's, and on a busy machine they come late.
	begun := processorTime(t)
	end := time.Now().Add(time.Minute)
	for processorTime(t)-begun < time.Second && time.Now().Before(end) {
		if _, err := json.Marshal(text); err != nil {
			t.Fatal(err)
		}
	}
	pprof.StopCPUProfile()
	s, err := read("shop.profile.pprof", profile.Bytes(), nil, time.Time{}, time.Time{})
	if err != nil || s.count < 5 || s.all[lab.LayerJSON] <= 0 {
		t.Errorf("%d samples, %v (%v)", s.count, s.all, err)
	}
}

// TestNodeLeavesAProfile runs the script as units do: it does not change how the program ends.
func TestNodeLeavesAProfile(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node here: install Node.js: ", err)
	}
	for name, c := range map[string]struct{ program, end string }{
		"that ends itself": {"const until = Date.now() + 300; while (Date.now() < until) " +
			"JSON.stringify({a: [1, 2, 3]}); process.exit(3)", "exit status 3"},
		"that is ended by a signal": {"const until = Date.now() + 300; while (Date.now() < until); " +
			"process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)", "signal: terminated"},
		"that deals with the signal": {"process.on('SIGTERM', () => process.exit(0)); setTimeout(() => " +
			"process.kill(process.pid, 'SIGTERM'), 100); setInterval(() => {}, 1)", ""},
	} {
		dir := t.TempDir()
		testset.Must(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
		for file, data := range map[string][]byte{nodeFile: nodeScript, "main.js": []byte(c.program)} {
			testset.Must(t, os.WriteFile(filepath.Join(dir, file), data, 0o600))
		}
		command := exec.Command(node, filepath.Join(dir, "main.js"))
		command.Env = []string{"NODE_OPTIONS=--require=" + filepath.Join(dir, nodeFile),
			profilesVariable + "=" + filepath.Join(dir, folder)}
		began := time.Now()
		text, err := command.CombinedOutput()
		if ended := fmt.Sprint(err); c.end != "" && ended != c.end || c.end == "" && err != nil {
			t.Errorf("a program %s: %v, want %q: %s", name, err, c.end, text)
		}
		left, err := filepath.Glob(filepath.Join(dir, folder, "*"+endNode))
		if err != nil || len(left) != 1 {
			t.Errorf("a program %s leaves %v, %v", name, left, err)
			continue
		}
		data, err := os.ReadFile(left[0])
		testset.Must(t, err)
		s, err := read(left[0], data, nil, began, time.Now())
		if err != nil || s.count == 0 {
			t.Errorf("a program %s: %d samples, %v", name, s.count, err)
		}
	}
}

// FuzzNode: for any bytes, no weight is negative, and none is smaller than its part in native code.
func FuzzNode(f *testing.F) {
	f.Add([]byte(`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},{"id":2,"callFrame":{"functionName":"f","url":"/a.js"}}],"samples":[1,2],"timeDeltas":[5,7],"began":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readNode(data, nil, time.Time{}, time.Now())
		if err != nil {
			return
		}
		for layer, weight := range s.all {
			if !(weight >= 0) || s.native[layer] > weight {
				t.Errorf("%s has %g, %g of it native", layer, weight, s.native[layer])
			}
		}
	})
}
