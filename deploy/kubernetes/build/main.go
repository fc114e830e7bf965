// Command kubernetes is all parts of Kubernetes in one program; the first argument names the part to run. The
// parts share most of their packages, so the program has a third of the size of five programs.
// scripts/kubernetes.sh builds it; the private cluster of deploy/kubernetes runs it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	parts := map[string]func() *cobra.Command{
		"apiserver":          apiserver.NewAPIServerCommand,
		"controller-manager": controllers.NewControllerManagerCommand,
		"scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"proxy":              proxy.NewProxyCommand,
		"kubelet":            func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	}
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: kubernetes apiserver|controller-manager|scheduler|proxy|kubelet [FLAG]...")
		os.Exit(2)
	}
	command := parts[os.Args[1]]()
	os.Args = os.Args[1:]
	os.Exit(cli.Run(command))
}
