package model_test

import (
	"fmt"
	"testing"

	"brokersim/model"
	"brokersim/sim"
)

// TestCodecThreads: a codec thread takes the requests of its connections one
// after the other, 8 threads a port, and clients that use the VIP port have 8 of
// their own; all end in one send queue (facts §2.2).
func TestCodecThreads(t *testing.T) {
	for _, c := range []struct {
		name     string
		clients  []string // of each producer
		last     sim.Time // after 1 s, when the last of their sends, all at once, is queued
		producer int      // of it
	}{
		{"8 connections", []string{7: ""}, 10 * ms, 7},
		{"9 connections", []string{8: ""}, 20 * ms, 8},
		{"17 connections", []string{16: ""}, 30 * ms, 16},
		{"two ports", []string{0: "4.4.0", 8: "4.5.1"}, 10 * ms, 8},
	} {
		cfg := bare("4.9.4", 2*sim.Second, at(sim.Second))
		cfg.Costs.Decode = dist("10ms")
		cfg.Producers = nil
		for i, client := range c.clients {
			if client == "" {
				client = "4.9.4"
			}
			cfg.Producers = append(cfg.Producers, model.Producer{Name: fmt.Sprint(i), Arrivals: at(sim.Second), Body: size("1KiB"), Timeout: 3 * sim.Second, Release: client})
		}
		rows := follow(t, cfg).rows
		last, by := sim.Time(0), int32(0)
		for _, a := range rows {
			if after := a.Enq - sim.Second; after > last {
				last, by = after, a.Producer
			}
			if a.Enq-a.Arrive != 10*ms {
				t.Errorf("%s: decoded in %v", c.name, a.Enq-a.Arrive)
			}
		}
		if len(rows) != len(c.clients) || last != c.last || last > 10*ms && int(by) != c.producer {
			t.Errorf("%s: %d sends, the last queued after %v (producer %d), want %v (%d)", c.name, len(rows), last, by, c.last, c.producer)
		}
	}
}

// TestCodecBacklog: what one connection sends faster than its codec thread
// decodes waits before it is stamped.
func TestCodecBacklog(t *testing.T) {
	cfg := bare("4.3.2", 2*sim.Second, at(sim.Second, sim.Second, sim.Second, sim.Second))
	cfg.Costs.Decode = dist("100ms")
	for i, a := range follow(t, cfg).rows {
		if want := sim.Second + sim.Time(i)*100*ms; a.Arrive != want || a.Enq != want+100*ms {
			t.Errorf("send %d: taken at %v, queued at %v, want %v and 100 ms later", i, a.Arrive, a.Enq, want)
		}
	}
}
