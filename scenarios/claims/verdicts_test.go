package claims

// decided is what a case is to come to, by the measure of that number, whose
// interval must lie within lo and hi (in its unit).
type decided struct {
	answer  Answer
	measure int
	lo, hi  float64
}

var verdicts = []struct {
	id      string
	verdict Verdict
	cases   []decided
}{
	{"A1", Holds, []decided{
		{Yes, 0, 9.9, 11}, // nothing disturbs the sweeper
		{Yes, 0, 9.9, 11}, // the sweeper is held up for 78 ms each second
	}},
	{"A2", HoldsWhen, []decided{
		{Yes, 0, 0, 0.29},       // the sweeper is in time
		{No, 0, 12, 100},        // 32 threads spin for the lock on 2 cores
		{No, 0, 33, 100},        // the whole process stands still for 250 ms
		{No, 0, 29, 100},        // response callbacks are in the send queue (4.7.1 to 4.9.2)
		{Yes, 0, 0.00036, 0.33}, // appends are held up for 400 ms, and no callbacks are in the send queue (4.3.2)
		{No, 0, 1.2, 18},        // the sweeper dumps all stacks (5.x)
	}},
	{"A3", HoldsWhen, []decided{
		{No, 0, 1, 1},  // the release is 4.0.0-incubating to 4.1.0-incubating
		{No, 0, 2, 2},  // the release is 4.2.0
		{No, 0, 3, 3},  // the release is 4.3.0
		{Yes, 0, 4, 4}, // the release is 4.3.1 to 4.9.8
		{No, 1, 6, 6},  // the release is 5.0.0 to 5.2.0
		{No, 1, 7, 7},  // the release is 5.3.0 to 5.3.3
	}},
	{"A4", DoesNotHold, []decided{
		{No, 0, 3.9, 41}, // the limit is 200 ms
	}},
	{"A5", Holds, []decided{
		{Yes, 0, 1.9, 14},  // one append holds the lock for 1.2 s
		{Yes, 0, 0, 0.023}, // one append holds the lock for 990 ms
		{Yes, 0, 0, 0.023}, // two appends in a row hold it for 900 ms each
	}},
	{"A6", HoldsWhen, []decided{
		{Yes, 0, 50, 100}, // the limits are 200 and 1000 ms
		{No, 0, 0, 0.043}, // the wait limit is raised to 3000 ms and the busy limit is not
	}},
	{"A7", HoldsWhen, []decided{
		{Yes, 0, 1, 1}, // the release is 4.0.0-incubating to 4.9.0
		{No, 0, 4, 4},  // the release is 4.9.1 to 5.3.3
	}},
	{"A8", HoldsWhen, []decided{
		{Yes, 0, 1, 1}, // the release is 4.0.0-incubating to 4.9.0
		{No, 0, 0, 0},  // the release is 4.9.1 to 5.3.3
	}},
	{"A9", HoldsWhen, []decided{
		{Yes, 0, 0.99, 1.1}, // flush and replica are asynchronous
		{No, 0, 1, 4.4},     // the flush is synchronous and the release is 4.3.2 (up to 4.6.1)
		{No, 0, 1, 3.8},     // the replica is synchronous and the release is 4.3.2 (up to 4.6.1)
		{Yes, 0, 1, 1},      // the flush is synchronous and the release is 4.9.4 (from 4.7.0)
	}},
	{"A10", HoldsWhen, []decided{
		{Yes, 0, 0.11, 1.4}, // there are 4 threads and the producer does not wait for answers
		{No, 0, 0, 0.01},    // there are 4 threads and a producer waits for each answer before it sends the next
		{No, 0, 0, 0.0088},  // there is 1 thread
	}},
	{"A11", NotBehaviour, nil},
	{"A12", HoldsWhen, []decided{
		{Yes, 0, 97, 110}, // appends are held up now and then
		{No, 0, 0, 0.025}, // more messages come than can be stored
		{No, 0, 0, 0.048}, // the whole process stands still
		{No, 0, 0, 0.42},  // a put waits for a new file
		{No, 0, 0, 0.058}, // a send waits for its flush (SYNC_FLUSH)
		{No, 0, 0, 0.037}, // a send waits for the slave (SYNC_MASTER)
	}},
	{"B1", DoesNotHold, []decided{
		{No, 0, 9.9, 11}, // nothing disturbs the sweeper
	}},
	{"B2", HoldsWhen, []decided{
		{Yes, 0, 0, 0.023}, // the error is PCBUSY_CLEAN_QUEUE
		{Yes, 0, 0, 0.023}, // the error is REJECTREQUEST
		{No, 0, 3.3, 23},   // the error is TIMEOUT_CLEAN_QUEUE
		{No, 0, 2.1, 16},   // the error is OVERLOAD
	}},
	{"B3", DoesNotHold, []decided{
		{No, 0, 0, 0.073}, // a stall of 1.2 s meets a queue with room for 8
	}},
	{"B4", HoldsWhen, []decided{
		{Yes, 0, 0, 0.018}, // a neighbour fills the page cache
		{No, 0, 8.7, 59},   // more messages come than can be stored
		{No, 0, 10, 69},    // an append waits for a new file
		{No, 0, 97, 110},   // the pool has 2 buffers
	}},
	{"B5", HoldsWhen, []decided{
		{Yes, 0, 6, 41},  // 400 messages come a second
		{No, 1, 4.4, 58}, // 5 messages come a second
	}},
	{"B6", HoldsWhen, []decided{
		{Yes, 0, 2.4, 17},     // the process is killed
		{No, 0, -0.056, 0.29}, // the power fails
	}},
	{"B7", DoesNotHold, []decided{
		{No, 0, 1.8, 13}, // an append is held up
		{No, 0, 3.4, 25}, // the sweeper is late by 400 ms as well
	}},
	{"B8", DoesNotHold, []decided{
		{No, 0, 0, 0.08}, // appends are held up now and then
	}},
	{"B9", HoldsWhen, []decided{
		{Yes, 0, 0, 0.023}, // the client is 4.3.2
		{Yes, 0, 0, 0.023}, // the client is 5.2.0
		{No, 0, 9, 59},     // the client is 5.3.0
		{Yes, 0, 0, 0.023}, // the client is 5.3.3 and sends asynchronously
	}},
	{"B10", HoldsWhen, []decided{
		{Yes, 0, 97, 110}, // the answer is TIMEOUT_CLEAN_QUEUE (code 2)
		{No, 0, 0, 0.72},  // the answer is FLUSH_DISK_TIMEOUT (code 10)
		{No, 0, 0, 0.012}, // the answer is SLAVE_NOT_AVAILABLE (code 11)
		{No, 0, 0, 0.068}, // the answer is FLUSH_SLAVE_TIMEOUT (code 12)
	}},
	{"B11", DoesNotHold, []decided{
		{No, 1, 3, 3}, // the mode is SYNC
		{No, 0, 1, 1}, // the mode is ASYNC
		{No, 0, 1, 1}, // the mode is ONEWAY
	}},
	{"B12", HoldsWhen, []decided{
		{Yes, 0, 0, 0.023}, // stalls last 500 ms
		{No, 0, 5.8, 39},   // stalls last 1.2 s
		{No, 0, 4.8, 33},   // stalls last 4 s and both limits are raised
	}},
	{"B13", HoldsWhen, []decided{
		{Yes, 0, 0, 0.023}, // it is REJECTREQUEST
		{No, 0, 2.8, 20},   // it is OVERLOAD
	}},
	{"B14", DoesNotHold, []decided{
		{No, 1, 97, 110}, // an append is held up for 1.2 s
	}},
	{"B15", HoldsWhen, []decided{
		{Yes, 0, 1, 1}, // the release is 4.0.0-incubating to 4.9.0
		{No, 0, 4, 4},  // the release is 4.9.1 to 5.3.3
	}},
	{"B16", HoldsWhen, []decided{
		{Yes, 0, 11, 160}, // 32 threads wait on 2 cores
		{No, 0, 0, 0},     // 2 threads wait on 8 cores
	}},
	{"B17", HoldsWhen, []decided{
		{Yes, 0, 0, 0.027}, // it is about clients: 8 producers, each with an eighth of the load
		{No, 0, 1, 1},      // it is about the broker working at several sends at once
	}},
	{"B18", NotBehaviour, nil},
	{"B19", NotBehaviour, nil},
	{"B20", NotBehaviour, nil},
	{"B21", DoesNotHold, []decided{
		{No, 0, 0, 0}, // the release is 4.0.0-incubating to 5.3.3
	}},
	{"B22", NotBehaviour, nil},
	{"B23", HoldsWhen, []decided{
		{Yes, 0, 0, 0.023}, // the limits are 200 and 1000 ms
		{Yes, 0, 0, 0.023}, // it is sent again without back-off
		{No, 0, 1.2, 9.2},  // the limits are 3000 and 5000 ms, 80 threads wait, and what timed out is sent again as well
	}},
	{"B24", HoldsWhen, []decided{
		{Yes, 0, 97, 110}, // messages come at 43/s
		{No, 1, 0, 5},     // messages come at 10/s
		{No, 1, 0, 0.15},  // messages come at 400/s
	}},
	{"threads", HoldsWhen, []decided{
		{Yes, 0, 0.92, 0.97}, // more messages come than can be stored
		{No, 0, 0.15, 0.9},   // appends are held up now and then
		{No, 0, 0, 0},        // the flush is synchronous and the release is 4.3.2 (up to 4.6.1)
	}},
	{"raise-limit", HoldsWhen, []decided{
		{Yes, 0, 0, 0.023}, // each stall is shorter than the new limit of 1000 ms
		{No, 0, 8.4, 56},   // more messages come than can be stored
		{No, 0, 4.8, 33},   // a stall outlasts the producers' timeout of 3 s
	}},
	{"busy-loses", HoldsWhen, []decided{
		{No, 0, 0, 0.023}, // the limits are 200 and 1000 ms
		{Yes, 0, 4.7, 32}, // the limits are 3000 and 5000 ms and a stall lasts 4 s
	}},
	{"busy-duplicates", DoesNotHold, []decided{
		{No, 0, 0, 0.08},  // appends are held up now and then
		{No, 0, 0, 0.073}, // an append is held up for 1.2 s
		{No, 0, 0, 0.094}, // 32 threads and the sweeper race on 2 cores
	}},
	{"at-most-210", HoldsWhen, []decided{
		{Yes, 0, 0, 0.29},  // the sweeper is in time
		{No, 0, 24, 100},   // 32 threads spin for the lock on 2 cores
		{No, 0, 36, 100},   // the whole process stands still for 250 ms
		{No, 0, 28, 100},   // response callbacks are in the send queue (4.7.1 to 4.9.2)
		{Yes, 0, 0, 0.045}, // appends are held up for 400 ms, and no callbacks are in the send queue (4.3.2)
		{No, 0, 1, 14},     // the sweeper dumps all stacks (5.x)
	}},
	{"queue-of-9", DoesNotHold, []decided{
		{No, 0, 0.65, 5.6}, // 9 at most were waiting
	}},
	{"retries", HoldsWhen, []decided{
		{No, 0, -39, -5.8},   // an append is held up for 1.2 s and the application sends again after 1 s
		{No, 0, -20, -2.9},   // one of two brokers is held up and the client (5.3.0) tries the other
		{No, 0, -2.5, -0.21}, // more messages come than can be stored and the application sends again after 1 s
		{Yes, 0, 32, 220},    // limits are high, a stall outlasts the producers' timeout, and they send again after 100 ms
	}},
	{"metastable", HoldsWhen, []decided{
		{Yes, 0, 8.1, 30}, // nothing is sent again
		{No, 0, 100, 110}, // what failed is sent again after 100 ms, and the limits are 20 s
		{Yes, 0, 0, 0},    // what failed is sent again after 100 ms, and the limits are 200 and 1000 ms
	}},
	{"pool-helps", HoldsWhen, []decided{
		{Yes, 0, -8, -0.75}, // a neighbour fills the page cache
		{No, 0, 0, 0},       // nothing is the matter
		{No, 0, 0, 0},       // more messages come than can be stored
		{No, 0, 0, 0},       // an append waits for a new file
		{No, 0, 100, 100},   // the pool has 2 buffers
		{No, 0, 95, 100},    // the replica is synchronous and there is 1 thread (up to 4.6.1)
	}},
	{"pool-hurts", HoldsWhen, []decided{
		{No, 0, -8, -0.75}, // a neighbour fills the page cache
		{No, 0, 0, 0},      // nothing is the matter
		{No, 0, 0, 0},      // more messages come than can be stored
		{No, 0, 0, 0},      // an append waits for a new file
		{Yes, 0, 100, 100}, // the pool has 2 buffers
		{Yes, 0, 95, 100},  // the replica is synchronous and there is 1 thread (up to 4.6.1)
		{Yes, 0, 2.4, 17},  // the process is killed
	}},
}
