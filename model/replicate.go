package model

import (
	"context"
	"errors"

	"brokersim/sim"
	"brokersim/sim/experiment"
)

// Replicate runs n replications of cfg on at most workers goroutines (below
// 1: one for each processor) and gathers them in order: the Study is the same
// whatever the workers. Only the first replication is observed.
//
// progress may be nil; it is called with the virtual time of a single
// replication, or with the number of replications done.
//
// When ctx ends first, or a run is a runaway, the error says so, and the Study
// holds what is complete: a prefix of the replications, or the single one as
// far as it got.
// Any other error is that of the lowest replication that failed.
func Replicate(ctx context.Context, cfg *Config, n, workers int, obs Observer, progress func(now sim.Time, done int)) (*Study, error) {
	one := func(ctx context.Context, replication int) (*Cluster, error) {
		var o Observer
		var at func(sim.Time)
		if replication == 0 {
			o = obs
			if progress != nil && n == 1 {
				at = func(now sim.Time) { progress(now, 0) }
			}
		}
		c, err := New(cfg, replication, o)
		if err != nil {
			return nil, err
		}
		err = c.Run(ctx, at)
		if n == 1 && err != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, sim.ErrRunaway)) {
			c.cut = err
			return c, nil
		}
		return c, err
	}
	var done func(int)
	if progress != nil && n > 1 {
		done = func(k int) { progress(0, k) }
	}
	var cut error
	study, err := experiment.Fold(ctx, n, workers, one, new(Study), func(s *Study, c *Cluster) *Study {
		if c.cut != nil {
			cut = c.cut
		}
		s.Add(c)
		return s
	}, done)
	return study, errors.Join(cut, err)
}
