package stat

import "math"

// The beta distribution's quantiles give all critical values here. They are
// computed to 12 digits or so for any number of trials, and rounded to 32
// bits: math.Log and its like differ in the last bits between architectures,
// an interval should not. (Through differences of math.Lgamma, as usual, a
// thousand million trials would leave 6 digits.)

// studentT returns the two-sided critical value of Student's t: |t| stays
// below it with the probability given. t²/(df+t²) is Beta(1/2, df/2).
func studentT(confidence float64, df int64) float64 {
	x := betaSolve(confidence, 0.5, float64(df)/2)
	return round32(math.Sqrt(float64(df) * x / (1 - x)))
}

// betaQuantile returns the p-quantile, 0 < p < 1, of Beta(a, b).
func betaQuantile(p, a, b float64) float64 {
	if a > b { // the smaller of x and 1-x is the one that needs the digits
		return 1 - betaQuantile(1-p, b, a)
	}
	x := betaSolve(p, a, b)
	if x > 0.5 {
		return 1 - round32(1-x)
	}
	return round32(x)
}

// round32 keeps 32 bits of x.
func round32(x float64) float64 {
	frac, exp := math.Frexp(x)
	return math.Ldexp(math.Round(frac*(1<<32))/(1<<32), exp)
}

// betaSolve finds the quantile for a <= b by Newton's method in a shrinking bracket.
func betaSolve(p, a, b float64) float64 {
	lo, hi := 0.0, 1.0
	x := a / (a + b)
	for range 500 {
		f := betaCDF(a, b, x) - p
		if f < 0 {
			lo = x
		} else {
			hi = x
		}
		next := x - f*x*(1-x)/betaDensity(a, b, x)
		if !(lo < next && next < hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-x) <= 1e-14*x {
			return next
		}
		x = next
	}
	return x
}

// betaCDF returns the regularised incomplete beta function I_x(a, b).
func betaCDF(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x < 1e-3 && (a+b)*x < a+8*math.Sqrt(a)+30:
		// The fractions below would lose the digits of x. (Farther above the
		// mean there is nothing to lose.)
		return betaDensity(a, b, x) / a * betaSeries(a, b, x)
	case x < (a+1)/(a+b+2):
		return betaDensity(a, b, x) / a * betaFraction(a, b, x)
	}
	return 1 - betaDensity(a, b, x)/b*betaFraction(b, a, 1-x)
}

// betaSeries sums the hypergeometric series of I_x(a, b), less its factor
// (Digital Library of Mathematical Functions, 8.17.8); all terms are positive.
func betaSeries(a, b, x float64) float64 {
	sum, term := 1.0, 1.0
	for j := 0.0; j < 1e8; j++ {
		ratio := (a + b + j) * x / (a + 1 + j)
		term *= ratio
		sum += term
		if ratio < 1 && term < 1e-16*(1-ratio)*sum {
			break
		}
	}
	return sum
}

// betaDensity returns x^a (1-x)^b / B(a, b), which is x(1-x) times the
// density, as a binomial probability by Loader's saddle-point expansion ("Fast
// and accurate computation of binomial probabilities", 2000), where no large
// terms cancel.
func betaDensity(a, b, x float64) float64 {
	n := a + b
	d := a - n*x
	exponent := stirlingError(n) - stirlingError(a) - stirlingError(b) - deviance(a, n*x, d) - deviance(b, n*(1-x), -d)
	return math.Sqrt(a*b/n/(2*math.Pi)) * math.Exp(exponent)
}

// stirlingError returns log Γ(z+1) less Stirling's approximation to it.
func stirlingError(z float64) float64 {
	if z < 16 {
		lg, _ := math.Lgamma(z + 1)
		return lg - (z+0.5)*math.Log(z) + z - 0.5*math.Log(2*math.Pi)
	}
	zz := z * z
	return (1.0/12 - (1.0/360-(1.0/1260-(1.0/1680-1.0/1188/zz)/zz)/zz)/zz) / z
}

// deviance returns k log(k/m) + m - k, given d = k - m as exactly as can be.
func deviance(k, m, d float64) float64 {
	if math.Abs(d) >= 0.1*(k+m) {
		return k*math.Log(k/m) - d
	}
	// With v = d/(k+m), log(k/m) is 2 atanh(v), and the first term cancels.
	v := d / (k + m)
	sum, term := d*v, 2*k*v
	for j := 1; ; j++ {
		term *= v * v
		next := sum + term/float64(2*j+1)
		if next == sum {
			return next
		}
		sum = next
	}
}

// betaFraction evaluates the continued fraction of I_x(a, b), less its
// factor (Digital Library of Mathematical Functions, 8.17.22), by Lentz's
// method; it converges quickly, in some sqrt(a+b) steps, for x below (a+1)/(a+b+2).
func betaFraction(a, b, x float64) float64 {
	const tiny = 1e-300
	c, d := 1.0, 1-(a+b)*x/(a+1)
	if math.Abs(d) < tiny {
		d = tiny
	}
	d = 1 / d
	h := d
	for m := 1.0; m < 1e7; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		change := 1.0
		for _, t := range [2]float64{even, odd} {
			if d = 1 + t*d; math.Abs(d) < tiny {
				d = tiny
			}
			d = 1 / d
			if c = 1 + t/c; math.Abs(c) < tiny {
				c = tiny
			}
			change = c * d
			h *= change
		}
		if math.Abs(change-1) < 1e-15 {
			break
		}
	}
	return h
}
