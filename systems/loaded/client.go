package loaded

import "github.com/cleave-lab/cleave/lab"

// clientParameters returns the factors for the connections and threads of the generator, and for the share of
// flows that it asks services to trace.
func clientParameters() []lab.Parameter {
	return []lab.Parameter{
		{Name: lab.FactorConnections, Summary: "connections of the generator, in an open loop", Min: 1, Max: 20_000,
			Optional: true},
		{Name: lab.FactorThreads, Summary: "threads of the generator that send, over plain HTTP/1.1", Min: 1,
			Max: 64, Optional: true},
		{Name: lab.FactorTraceShare, Summary: "share of the flows whose services are asked for spans", Max: 1,
			Optional: true, Share: true},
	}
}

// SetClient applies the factors of a point that are among clientParameters.
func SetClient(job *lab.LoadJob, p lab.Point) {
	if connections, set := p.Level(lab.FactorConnections); set {
		job.Client.Connections = int(connections)
	}
	if threads, set := p.Level(lab.FactorThreads); set {
		job.Client.Threads = int(threads)
	}
	if share, set := p.Level(lab.FactorTraceShare); set {
		job.Client.TraceShare = share
	}
}
