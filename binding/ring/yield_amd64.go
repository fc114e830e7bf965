package ring

// Yield lets other processes on this processor run first, if there are any. It
// enters the kernel directly, without package syscall. After the switch, the
// processor would mispredict all returns through the layers of that package, and
// have to look up their pages again, which takes 5 % of the time of a switch.
func Yield() { yield() }

func yield()
