package analytic

// MG1 is the queue with Poisson arrivals and a general service time, of which
// only two moments count.
type MG1 struct{ station }

// NewMG1 takes an arrival rate and a mean service time above 0 with a load
// below 1, and the second moment of the service time (variance plus square of
// the mean).
func NewMG1(arrivalRate, service, serviceSecond float64) (MG1, error) {
	var f faults
	f.positive("arrival rate", arrivalRate)
	f.moments("service time", service, serviceSecond)
	load := arrivalRate * service
	f.load(load, 1, true)
	if err := f.err("M/G/1"); err != nil {
		return MG1{}, err
	}
	wait := arrivalRate * serviceSecond / (2 * (1 - load)) // Pollaczek and Khinchine
	return MG1{station{arrivalRate, service, wait, 1}}, nil
}

// Vacation is M/G/1 with a server that leaves for a vacation whenever it finds
// nobody, and for another when it comes back to nobody.
type Vacation struct{ station }

// NewVacation takes what NewMG1 takes, and the moments of a vacation.
func NewVacation(arrivalRate, service, serviceSecond, vacation, vacationSecond float64) (Vacation, error) {
	base, err := NewMG1(arrivalRate, service, serviceSecond)
	if err != nil {
		return Vacation{}, err
	}
	var f faults
	f.moments("vacation", vacation, vacationSecond)
	if err := f.err("M/G/1 with vacations"); err != nil {
		return Vacation{}, err
	}
	// Decomposition: the wait without vacations, and what is left of one that
	// is seen at a random instant, are independent.
	base.wait += vacationSecond / (2 * vacation)
	return Vacation(base), nil
}
