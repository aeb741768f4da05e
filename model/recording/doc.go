// Package recording replays what a real broker did: recorded arrivals and
// stalls drive the model, and each request's outcome is held against the
// recorded one.
//
// A replay's simulation reads only the arrivals (arrive_ns: the instant at
// the codec thread, after any freeze), the stalls, the settings, the wall
// clock's sub-millisecond part and one phase of the sweep. The other recorded
// columns only score it and may be empty. In particular the recorded sweeps
// give one number, the phase of their fixed rate, never their times.
//
// MeasureFlush and MeasureCPU read more, where a replay asks for them: what each
// append and flush, and what the send thread took, in place of draws. A send's
// outcome, and when it was taken, are still the simulation's.
//
// The files are those of an experiment folder:
//
//   - requests.csv[.gz], the columns of model.RequestsHeader by name, in order
//     of arrival;
//   - stalls.csv: kind (append, freeze, sweep), start_ns and end_ns of the stall as
//     it was, window_start_ns from when on it held what began;
//   - sweeps.csv.gz: sweep, start_ns;
//   - experiment.json: the broker's settings, append_delay_us,
//     wall_frac_ns_at_t0, and stalls_ms and freezes_ms as asked for, which
//     count where there is no stalls.csv.
//
// Write makes such a folder of a run of one's own.
package recording
