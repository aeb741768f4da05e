// Package analytic holds queues whose behaviour is known in closed form, and
// simulates each with the kernel to see whether it agrees ([Verify]).
//
// Each constructor takes rates (customers per unit of time) and mean times in
// one unit of the caller's choice, and refuses parameters outside its domain,
// such as a load of 1 where nothing limits the queue. Figures are means or
// probabilities in the steady state, in the same unit. Where not stated
// otherwise, the discipline is first come first served, with one server.
//
//	MM1                   M/M/1             Kleinrock 1975, section 3.2
//	MMc                   M/M/c             Erlang 1917
//	MM1K                  M/M/1/K           Kleinrock 1975, section 3.6
//	MD1                   M/D/1             Erlang 1909, Crommelin 1932, Franx 2001
//	MG1                   M/G/1             Pollaczek 1930, Khinchine 1932
//	Vacation              M/G/1, vacations  Fuhrmann and Cooper 1985
//	PatientMM1            M/M/1+D           Barrer 1957
//	ExponentialPatience   M/M/1+M           Palm 1937, Baccelli and Hebuterne 1981
//
// Waiting time is that in the queue, sojourn time includes the service, queue
// length counts only those who wait.
package analytic
