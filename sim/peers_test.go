//go:build peers

package sim_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkPeers runs M/M/1 on the engine and, in turns with it, in SimPy and
// SSJ (testdata/peers), and reports how many times as many customers a second
// the engine handles: min, median and max over the rounds. The peers time
// themselves, after start-up and, in Java, two runs to warm up; but they use
// their own generators.
//
//	go test -tags peers -bench Peers -run '^$' ./sim
//
// It needs python3 with simpy (4.1.2 was measured), and java (17 or later) with
// mvn, which fetches SSJ 3.3.1.
func BenchmarkPeers(b *testing.B) {
	for _, peer := range []struct {
		name    string
		n       int
		command func(*testing.B) ([]string, error)
	}{
		{"simpy", 100_000, simpyCommand},
		{"ssj", 2_000_000, ssjCommand},
	} {
		b.Run(peer.name, func(b *testing.B) {
			command, err := peer.command(b)
			if err != nil {
				b.Skip(err)
			}
			var ratios, ours, theirs []float64
			for b.Loop() {
				for range 5 {
					t := timeEngine(peer.n)
					p := timePeer(b, append(command, fmt.Sprint(peer.n)), peer.n)
					t = (t + timeEngine(peer.n)) / 2 // one before, one after
					ratios = append(ratios, p/t)
					ours = append(ours, float64(peer.n)/t)
					theirs = append(theirs, float64(peer.n)/p)
				}
			}
			for _, x := range [][]float64{ratios, ours, theirs} {
				slices.Sort(x)
			}
			mid := len(ratios) / 2
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ratios[0], "x-"+peer.name+"-min")
			b.ReportMetric(ratios[mid], "x-"+peer.name)
			b.ReportMetric(ratios[len(ratios)-1], "x-"+peer.name+"-max")
			b.ReportMetric(ours[mid], "customers/s")
			b.ReportMetric(theirs[mid], peer.name+"-customers/s")
		})
	}
}

// timeEngine returns the seconds that the engine takes for n customers.
func timeEngine(n int) float64 {
	start := time.Now()
	mm1Engine(1, n)
	return time.Since(start).Seconds()
}

// timePeer returns the seconds that a peer took for n customers.
func timePeer(b *testing.B, command []string, n int) float64 {
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		b.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	var seconds, mean float64
	var served int
	if _, err := fmt.Sscan(string(out), &seconds, &served, &mean); err != nil {
		b.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	if served != n || math.Abs(mean-0.004) > 0.0008 { // it must be the same work
		b.Fatalf("%s: %d served, mean sojourn time %v s; want %d, 0.004 s", strings.Join(command, " "), served, mean, n)
	}
	return seconds
}

func simpyCommand(*testing.B) ([]string, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, err
	}
	if out, err := exec.Command(python, "-c", "import simpy").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("no simpy: %w: %s", err, out)
	}
	return []string{python, filepath.Join("testdata", "peers", "mm1.py")}, nil
}

func ssjCommand(b *testing.B) ([]string, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, err
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return nil, err
	}
	pom := filepath.Join("testdata", "peers", "pom.xml")
	file := filepath.Join(b.TempDir(), "classpath")
	out, err := exec.Command(mvn, "-q", "-B", "-f", pom, "dependency:build-classpath", "-Dmdep.outputFile="+file).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("no SSJ: %s: %w: %s", mvn, err, out)
	}
	classpath, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return []string{java, "-cp", string(classpath), filepath.Join("testdata", "peers", "MM1.java")}, nil
}
