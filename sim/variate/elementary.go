package variate

import "math"

// The functions of this file use only +, -, *, / and Sqrt with every product
// rounded on its own, so that they give the same bits on every architecture.
// math's do not: some have assembly on one architecture only, and the compiler
// may fuse their products into sums on another.

const (
	ln2Hi = 6.93147180369123816490e-01 // upper 33 bits of ln 2: times an exponent it is exact
	ln2Lo = 1.90821492927058770002e-10
)

// log returns the natural logarithm, within 1 ulp. log(0) is -Inf; x must not
// be negative.
//
// With x = 2^k (1+f) and s = f/(2+f), log(1+f) = 2 atanh(s), whose series in
// s² converges fast as |s| < 0.172. It is summed as f - (f²/2 - s(f²/2 + r)),
// in which only the small terms are rounded.
func log(x float64) float64 {
	if !(x > 0) || x > math.MaxFloat64 {
		if x == 0 {
			return math.Inf(-1)
		}
		return x // +Inf or NaN
	}
	k := 0
	if x < 0x1p-1022 {
		x = float64(x * 0x1p54)
		k = -54
	}
	// Adding the distance from sqrt(1/2) to 1 in bits carries into the
	// exponent when the mantissa is above sqrt(2).
	bits := math.Float64bits(x) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd)
	k += int(bits>>52) - 1023
	bits = bits&0x000fffffffffffff + 0x3fe6a09e667f3bcd
	f := math.Float64frombits(bits) - 1

	s := f / (2 + f)
	z := float64(s * s)
	z2 := float64(z * z)
	z4 := float64(z2 * z2)
	// 2 (z/3 + z²/5 + ... + z^11/23), in pairs for the processor's sake.
	a := 2./3 + float64(z*(2./5))
	b := 2./7 + float64(z*(2./9))
	c := 2./11 + float64(z*(2./13))
	d := 2./15 + float64(z*(2./17))
	e := 2./19 + float64(z*(2./21)) + float64(z2*(2./23))
	ab := a + float64(z2*b)
	cd := c + float64(z2*d)
	r := float64(z * (ab + float64(z4*(cd+float64(z4*e)))))
	half := float64(0.5 * float64(f*f))
	n := float64(k)
	low := float64(s*(half+r)) + float64(n*ln2Lo)
	return float64(n*ln2Hi) - ((half - low) - f)
}

const (
	expBits  = 7
	expSteps = 1 << expBits

	root   = 1.00542990111280282135138395593479981470010844693625 // 2**(1/128)
	rootHi = 0x1.0163da9fb3335p+0
	rootLo = root - rootHi

	// Added to a float64 below 2^51 in size, it leaves the nearest integer in
	// the low bits.
	roundInt = 0x1.8p52
)

// powersOf2 holds 2**(i/128), and what that lacks as a float64.
var powersOf2 = func() (table [expSteps]struct{ hi, lo float64 }) {
	hi, lo := 1.0, 0.0
	for i := range table {
		table[i].hi, table[i].lo = hi, lo
		// Times the root, in twice the precision; FMA is exact everywhere.
		p := float64(hi * rootHi)
		e := math.FMA(hi, rootHi, -p) + float64(hi*rootLo) + float64(lo*rootHi)
		hi = p + e
		lo = e - (hi - p)
	}
	return table
}()

// exp returns e**x, within 1 ulp where it is a normal number; below that 0.
//
// With x = k ln2/128 + r, |r| <= ln2/256, it takes the 128th power of 2 from a
// table and sums Taylor's series of e**r - 1.
func exp(x float64) float64 {
	switch {
	case x > 709.782712893384:
		return math.Inf(1)
	case x < -708.396418532264:
		return 0
	case x != x:
		return x
	}
	shifted := float64(x*(expSteps/math.Ln2)) + roundInt
	n := shifted - roundInt
	k := int64(math.Float64bits(shifted)<<13) >> 13 // the mantissa below its top bit
	r := (x - float64(n*(ln2Hi/expSteps))) - float64(n*(ln2Lo/expSteps))
	z := float64(r * r)
	p := r + float64(z*((0.5+float64(r*(1./6)))+float64(z*(1./24+float64(r*(1./120))))))
	t := &powersOf2[k&(expSteps-1)]
	y := t.hi + (float64(t.hi*p) + t.lo)
	m := k >> expBits
	if m > 1023 {
		return float64(float64(y*2) * math.Float64frombits(uint64(m-1+1023)<<52))
	}
	return float64(y * math.Float64frombits(uint64(m+1023)<<52))
}

// expm1 returns e**x - 1 without cancellation (Kahan: the rounding errors of
// exp(x)-1 and of log(exp(x)) are alike, and divide out).
func expm1(x float64) float64 {
	if x > 40 {
		return exp(x)
	}
	u := exp(x)
	switch d := u - 1; {
	case d == 0:
		return x
	case d == -1:
		return -1
	default:
		return float64(d*x) / log(u)
	}
}

// log1p returns log(1+x) without cancellation, in the manner of expm1.
func log1p(x float64) float64 {
	u := 1 + x
	d := u - 1
	if d == 0 || u > math.MaxFloat64 {
		return x
	}
	return float64(log(u)*x) / d
}

// pow returns x**y for x >= 0. Its relative error is about |y log x| ulp.
func pow(x, y float64) float64 {
	if y == 1 {
		return x
	}
	return exp(float64(y * log(x)))
}

const (
	sqrt2Pi  = 2.50662827463100050242
	lnSqrt2P = 0.91893853320467274178 // ln sqrt(2 pi)
)

// logGamma returns ln Gamma(x) for x > 0, to about 1e-15 of its size or of 1:
// Stirling's series, after a climb to where it converges.
func logGamma(x float64) float64 {
	climb := 1.0
	for x < 10 {
		climb = float64(climb * x)
		x++
	}
	return float64((x-0.5)*log(x)) - x + lnSqrt2P + stirling(x) - log(climb)
}

// stirling returns ln Gamma(x) - ((x-1/2) ln x - x + ln sqrt(2 pi)), x >= 10.
func stirling(x float64) float64 {
	z := 1 / float64(x*x)
	sum := -691./360360 + float64(z/156)
	sum = 1./1188 + float64(z*sum)
	sum = -1./1680 + float64(z*sum)
	sum = 1./1260 + float64(z*sum)
	sum = -1./360 + float64(z*sum)
	sum = 1./12 + float64(z*sum)
	return sum / x
}

// gammaDensity returns x^a e^-x / Gamma(a), for a, x > 0.
func gammaDensity(a, x float64) float64 {
	if a < 10 {
		return exp(float64(a*log(x)) - x - logGamma(a))
	}
	// Near x = a the powers cancel: use ln(x/a) - (x-a)/a instead.
	d := (x - a) / a
	var l float64
	if d > -0.1 && d < 0.1 {
		// log1p(d)-d = -d²/2 + d³/3 - ...
		power := float64(d * d)
		for n := 2.0; n < 20; n++ {
			term := power / n
			if int(n)%2 == 0 {
				term = -term
			}
			l += term
			power = float64(power * d)
		}
	} else {
		l = log(x/a) - d
	}
	return float64(exp(float64(a*l)-stirling(a)) * math.Sqrt(a/(2*math.Pi)))
}

// gammaInc returns the regularised incomplete gamma functions P(a, x) and
// Q(a, x) = 1 - P, each without cancellation: a series below a+1 and Lentz's
// continued fraction above (Abramowitz and Stegun 6.5.29, 6.5.31).
func gammaInc(a, x float64) (p, q float64) {
	switch {
	case !(x > 0):
		return 0, 1
	case x > math.MaxFloat64:
		return 1, 0
	}
	g := gammaDensity(a, x)
	if x < a+1 {
		term := 1 / a
		sum := term
		for n := a + 1; term > float64(sum*0x1p-54); n++ {
			term = float64(term * (x / n))
			sum += term
		}
		p = min(float64(g*sum), 1)
		return p, 1 - p
	}
	b := x + 1 - a
	c := math.Inf(1)
	d := 1 / b
	h := d
	for i := 1.0; ; i++ {
		an := float64(-i * (i - a))
		b += 2
		d = 1 / (float64(an*d) + b)
		c = b + an/c
		step := float64(c * d)
		h = float64(h * step)
		if math.Abs(step-1) < 0x1p-52 || i > 1e5 {
			break
		}
	}
	q = min(float64(g*h), 1)
	return 1 - q, q
}

// normalTails returns the standard normal distribution's CDF and 1-CDF at x.
func normalTails(x float64) (below, above float64) {
	p, q := gammaInc(0.5, float64(0.5*float64(x*x)))
	inner, tail := 0.5+float64(0.5*p), float64(0.5*q)
	if x < 0 {
		return tail, inner
	}
	return inner, tail
}

// normalQuantile returns the x at which the standard normal CDF is p: Halley's
// steps on normalTails from Abramowitz and Stegun 26.2.22.
func normalQuantile(p float64) float64 {
	switch {
	case p <= 0:
		return math.Inf(-1)
	case p >= 1:
		return math.Inf(1)
	case p == 0.5:
		return 0
	case p > 0.5:
		return -lowerNormalQuantile(1 - p)
	}
	return lowerNormalQuantile(p)
}

// lowerNormalQuantile is normalQuantile for 0 < p <= 1/2.
func lowerNormalQuantile(p float64) float64 {
	t := math.Sqrt(float64(-2 * log(p)))
	x := (2.30753+float64(0.27061*t))/(1+float64(0.99229*t)+float64(0.04481*float64(t*t))) - t
	for range 4 {
		below, _ := normalTails(x)
		e := float64((below-p)*sqrt2Pi) / exp(float64(-0.5*float64(x*x)))
		x -= e / (1 + float64(0.5*float64(x*e)))
	}
	return x
}

// quantileOf inverts a CDF by bisection over the float64s from 0 up, whose
// bits are in their order: it returns the least x with cdf(x) >= p, and +Inf
// for p = 1, to which a CDF comes too early by rounding.
func quantileOf(p float64, cdf func(float64) float64) float64 {
	if p >= 1 {
		return math.Inf(1)
	}
	lo, hi := uint64(0), math.Float64bits(math.Inf(1))
	for lo < hi {
		mid := lo + (hi-lo)/2
		if cdf(math.Float64frombits(mid)) >= p {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return math.Float64frombits(lo)
}
