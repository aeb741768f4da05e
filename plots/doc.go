// Package plots draws the figures of one run, as PNG and SVG.
//
// A [Recorder] listens to the run (it fills a model.Observer) and keeps what
// the figures need in bounded memory, whatever the length of the run:
//
//   - accepted sends are thinned: the first of each cell of a grid of time by
//     logarithm of sojourn time;
//   - rejected sends are never thinned: the first 200,000 are kept exactly,
//     later ones as set cells of a grid finer than a pixel, so each still has
//     its mark;
//   - queue length and lock holds are kept per time bin (least, greatest and
//     last length; the longest hold, exactly), bins doubling in width when a run
//     outlasts them;
//   - what sends waited for is summed up by cause in bins of some 3 pixels;
//   - around the first incident the same is kept once more at 1 ms, so that it
//     can be shown from near in a run of any length.
//
// [PNG] and [SVG] draw one of five figures from an [Input]:
//
//	incident-timeline  each send by its sojourn time, stalls, limit, sweeps
//	queue-lock         queue length and lock-held time on one time axis
//	latency-spectrum   percentiles of latency and waiting time
//	rejected           period in queue and size of queue of each swept send
//	waiting-causes     what sends waited for in the send queue, over time
//
// Times are virtual: seconds on time axes, milliseconds for durations. The same
// input gives the same bytes on the same architecture: nothing depends on a
// clock, a map's order or a goroutine's. (Between architectures the last
// digit of a coordinate may differ, as math.Log and fused operations do.)
//
// Colours are those of M. Okabe and K. Ito, Color Universal Design (2008); each
// outcome has a shape of its own as well.
package plots
