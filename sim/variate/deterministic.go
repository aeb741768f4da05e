package variate

import (
	"math"
	"math/big"
	"math/bits"

	"brokersim/sim"
)

// Deterministic arrivals come at phase, phase + interval, phase + 2 interval
// and so on, each rounded to the nearest ns: they do not drift, even where the
// interval is no whole number of ns.
type Deterministic struct {
	perSecond float64  // or 0: every is given
	every     sim.Time // or 0: perSecond is given
	phase     sim.Time
}

// NewDeterministicRate returns perSecond arrivals a second, the first at
// phase.
func NewDeterministicRate(perSecond float64, phase sim.Time) (Deterministic, error) {
	var c checks
	c.rate("rate", perSecond)
	c.instant("phase", phase)
	return Deterministic{perSecond: perSecond, phase: phase}, c.err()
}

// NewDeterministicEvery returns an arrival at phase and then one every
// interval.
func NewDeterministicEvery(interval, phase sim.Time) (Deterministic, error) {
	var c checks
	c.require(interval >= 1 && interval <= DrawMax, "every", "want between 1ns and %v, got %v", sim.Time(DrawMax), interval)
	c.instant("phase", phase)
	return Deterministic{every: interval, phase: phase}, c.err()
}

// Phase returns the instant of the first arrival.
func (a Deterministic) Phase() sim.Time { return a.phase }

// Rate implements Arrivals.
func (a Deterministic) Rate() float64 {
	if a.every != 0 {
		return 1e9 / float64(a.every)
	}
	return a.perSecond
}

func (a Deterministic) String() string {
	key, value := "rate", formatRate(a.perSecond)
	if a.every != 0 {
		key, value = "every", formatDuration(float64(a.every))
	}
	if a.phase == 0 {
		return spell("deterministic", key, value)
	}
	return spell("deterministic", key, value, "phase", formatDuration(float64(a.phase)))
}

// Start implements Arrivals; nothing is drawn.
func (a Deterministic) Start(*sim.Stream) Process {
	p := &deterministicProcess{at: uint64(a.phase), fraction: 1 << 63, step: uint64(a.every)}
	if a.every == 0 {
		p.step, p.stepFraction = interval(a.perSecond)
	}
	return p
}

// interval returns 1e9/perSecond ns in fixed point, exactly rounded.
func interval(perSecond float64) (ns, fraction uint64) {
	r := new(big.Rat).SetFloat64(perSecond)
	n := new(big.Int).Mul(r.Denom(), big.NewInt(1e9))
	n.Lsh(n, 64+1)
	n.Quo(n, r.Num())
	n.Add(n, big.NewInt(1)).Rsh(n, 1)
	fraction = new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	return n.Rsh(n, 64).Uint64(), fraction
}

// deterministicProcess keeps the next instant + 1/2 ns in fixed point, with
// 64 bits of fraction, so that dropping the fraction rounds to the nearest.
type deterministicProcess struct {
	at, fraction       uint64
	step, stepFraction uint64
}

func (p *deterministicProcess) Next() (sim.Time, bool) {
	if p.at > DrawMax {
		return 0, false
	}
	at := sim.Time(p.at)
	var carry uint64
	p.fraction, carry = bits.Add64(p.fraction, p.stepFraction, 0)
	p.at += p.step + carry
	return at, true
}
