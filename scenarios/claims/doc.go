// Package claims puts to the test what people say about a RocketMQ broker that
// is busy.
//
// A [Claim] is data: the sentence, the release that it is about, and the cases
// in which it is tried. A [Case] is a bundled scenario (claims/*.toml) with its
// variants, which differ by overrides alone, and the tests that decide: measures
// with what is wanted of them. All variants of a case are run with the same seeds
// (common random numbers: the same arrivals, the same stalls), so that A against B
// is a paired difference, far narrower than the two figures' own intervals.
//
// A verdict is never written down. A test passes when all of its measure's
// interval meets the bound, fails when none of it does, and can't tell
// otherwise; a claim holds in a case when all of its tests pass. In all cases:
// it holds; in none: it does not; in some: it holds when what these cases say.
// Intervals are at 99 % confidence, for a table of verdicts has many of them.
//
// Claims about names and defaults are held against the table of releases
// ([Claim.Table]). What is beyond what the model knows says where it stands
// instead ([Claim.Elsewhere]): the table of claims is complete.
package claims
