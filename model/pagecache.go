package model

import (
	"math/bits"
	"slices"

	"brokersim/sim"
	"brokersim/sim/variate"
)

// PageCache is the kernel's part in an append: dirty pages, their writeback
// to one disk, and the throttling of those who make them dirty.
//
// The names in comments are those of the kernel's functions (mm/page-
// writeback.c and fs/fs-writeback.c of Linux 5.14 to 6.x, 4 KiB pages). All
// is whole numbers, as there. Simplified:
//
//   - One disk, whose bandwidth is constant and known: no wb_update_write_
//     bandwidth, and its share of the limits is all of them. What is dirty and
//     what is under writeback is one stock: dirty pages leave it when they are
//     written. No memory cgroups, no strictlimit.
//   - Reads and changes of directories go before writes (disk.go).
//   - The dirtyable memory does not change, and so nor do the limits.
//   - The flusher writes what others made dirty before the commit log's pages.
//     msync goes first: while it writes, the flusher does not (as blk-wbt holds
//     background writes back behind synchronous ones).
//   - A neighbour's task writes 32 KiB at a time, each of which takes between
//     half and one and a half of its mean time, evenly: tasks compete for
//     processors. A task keeps its processor all the same.
//   - A page is 4 KiB: with stable pages, an append waits for the flush of the
//     page that was partly filled when the flush began, not of a larger folio.
type PageCache struct {
	Memory      int64        // dirtyable bytes (global_dirtyable_memory)
	Background  int64        // bytes: dirty_background_bytes, or the ratio of Memory
	Limit       int64        // bytes: dirty_bytes, or the ratio of Memory
	Disk        int64        // bytes per second
	Tick        sim.Time     // 1/HZ
	Writeback   sim.Time     // dirty_writeback_centisecs; 0: none
	Expire      sim.Time     // dirty_expire_centisecs
	Latency     variate.Dist // ns that the disk takes for a read or a change of its directory, beside what is read; nil: none
	StablePages bool         // the device needs pages under writeback to stay as they are
}

// check reports what a run can't use.
func (c *PageCache) check(bad func(format string, args ...any)) {
	if c.Background < 16*pageSize || c.Limit <= c.Background || c.Limit > 1<<50 {
		bad("page cache: want a background limit of at least %d bytes and a hard limit above it, got %d and %d", 16*pageSize, c.Background, c.Limit)
	}
	if c.Disk < pageSize || c.Disk > 1<<40 {
		bad("page cache: want a disk of %d to %d bytes/s, got %d", pageSize, int64(1)<<40, c.Disk)
	}
	if c.Tick != sim.Millisecond && c.Tick != 4*sim.Millisecond && c.Tick != 10*sim.Millisecond {
		bad("page cache: want a tick of 1ms, 4ms or 10ms, got %v", c.Tick)
	}
	if c.Writeback < 0 || c.Writeback > 0 && (c.Writeback < 10*sim.Millisecond || c.Expire < 0 || c.Expire/c.Writeback >= expireMost) {
		bad("page cache: want writeback each 10ms or more, or 0, and pages that expire after less than %d of them, got %v and %v", expireMost, c.Writeback, c.Expire)
	}
}

const expireMost = 10_000

const (
	writePages     = 8        // that a neighbour's task writes at a time
	initialRate    = 100 << 8 // INIT_BW, 100 MB/s in pages
	initialQuota   = 128 >> 2 // nr_dirtied_pause of a new task, in pages (copy_process)
	exceededQuota  = 32 >> 2  // of every task over the limit
	pollThreshold  = 128 >> 2 // DIRTY_POLL_THRESH
	ratioShift     = 10       // RATELIMIT_CALC_SHIFT
	perCPUFraction = 32       // writeback_set_ratelimit
)

// pageCache is a PageCache at work. It is brought up to an instant by advance.
type pageCache struct {
	cfg        *PageCache
	background int64 // pages
	limit      int64
	freerun    int64 // dirty_freerun_ceiling
	hz         int64
	phase      sim.Time // of the ticks
	pageTime   sim.Time // that the disk takes for a page
	bandwidth  int64    // pages per second: avg_write_bandwidth
	perCPU     []int64  // bdp_ratelimits
	perCPUMost int64    // ratelimit_pages

	stock    int64 // pages, dirty or under writeback
	total    int64 // ever dirtied
	written  int64 // ever written
	exceeded bool  // wb->dirty_exceeded

	writing   bool     // the flusher is at work
	since     sim.Time // when it began with the page that it is at
	old       int64    // it writes until so many were ever written,
	kupdate   sim.Time // as each tick of the flusher says
	history   []int64  // total at those ticks, a ring
	kupdates  int
	syncUntil sim.Time // msync has the disk
	syncPages int64

	rate         int64 // wb->dirty_ratelimit, pages per second
	balancedRate int64
	stampTick    int64 // of bw_time_stamp
	stampTotal   int64

	brokerDirty int64 // of stock, the commit log's
	dirtyTo     int64 // offset up to which the page in hand is dirty, or Absent
	writers     []dirtier
	neighbours  []neighbour
	deletes     []deleting
	warm        dirtier  // the allocator's thread, while it warms up a file
	warmLeft    int64    // pages of that file
	warmStep    sim.Time // what writePages of them take
	next        sim.Time // of neighbours, deletes, the allocator and kupdate
	disk        disk
	journal     sim.Time // an append that needs the journal waits until then
}

// dirtier is a task: its share of task_struct.
type dirtier struct {
	cpu        int
	pages      int64 // nr_dirtied
	owed       int64 // of the call of balance that it sleeps in
	quota      int64 // nr_dirtied_pause
	pausedTick int64 // dirty_paused_when, 0: never
	retry      bool  // balance is to be called again after the sleep
	asleep     bool
	next       sim.Time
}

type neighbour struct {
	bursts
	tasks   []dirtier
	step    sim.Time // that a task takes for writePages, in the mean; 0: they don't write
	stream  *sim.Stream
	gap     sim.Time // between a task's reads, in the mean; 0: they don't read
	reads   *sim.Stream
	readAt  []sim.Time // each task's next
	next    sim.Time
	nextOne int // task that acts then, if it is none of the two; len(tasks) and more: it reads
}

func newPageCache(cfg *Config, broker int, streams sim.Streams) *pageCache {
	k := cfg.Store.PageCache
	c := &pageCache{
		cfg:        k,
		background: k.Background / pageSize,
		limit:      k.Limit / pageSize,
		hz:         int64(sim.Second / k.Tick),
		phase:      sim.Time(streams.Stream("tick phase").Uint64n(uint64(k.Tick))),
		pageTime:   max(1, sim.Time(pageSize*int64(sim.Second)/k.Disk)),
		bandwidth:  k.Disk / pageSize,
		perCPU:     make([]int64, cfg.Machine.Cores),
		rate:       initialRate,
		dirtyTo:    Absent,
		kupdate:    sim.Never,
		next:       sim.Never,
	}
	c.disk.latency = newSampler(k.Latency, streams.Stream("disk latency"))
	c.freerun = (c.limit + c.background) / 2
	c.balancedRate = c.rate
	c.perCPUMost = max(16, c.limit/(int64(cfg.Machine.Cores)*perCPUFraction))
	for i := range cfg.Broker.SendMessageThreadPoolNums {
		c.writers = append(c.writers, dirtier{cpu: i % cfg.Machine.Cores, quota: initialQuota})
	}
	if k.Writeback > 0 {
		c.history = make([]int64, max(1, (k.Expire+k.Writeback-1)/k.Writeback))
		c.kupdate = sim.Time(streams.Stream("writeback phase").Uint64n(uint64(k.Writeback)))
	}
	cpu := len(c.writers)
	for i := range cfg.Neighbours {
		spec := &cfg.Neighbours[i]
		if spec.Broker != broker || !spec.writes() {
			continue
		}
		n := newNeighbour(spec, streams)
		for j := range n.tasks {
			n.tasks[j] = dirtier{cpu: cpu % cfg.Machine.Cores, next: sim.Never}
			cpu++
		}
		n.look()
		c.neighbours = append(c.neighbours, n)
	}
	for i := range cfg.Deletes {
		if spec := &cfg.Deletes[i]; spec.Broker == broker {
			c.deletes = append(c.deletes, newDeleting(spec, i, streams))
		}
	}
	c.warm = dirtier{cpu: cpu % cfg.Machine.Cores, next: sim.Never}
	c.schedule()
	return c
}

func newNeighbour(spec *Neighbour, streams sim.Streams) neighbour {
	n := neighbour{
		bursts: newBursts(spec, streams),
		tasks:  make([]dirtier, spec.Tasks),
		stream: streams.Stream("neighbour " + spec.Name + " write"),
		reads:  streams.Stream("neighbour " + spec.Name + " read"),
	}
	if spec.Rate > 0 {
		n.step = max(1, sim.Time(float64(writePages*pageSize)*float64(spec.Tasks)*1e9/float64(spec.Rate)))
	}
	if spec.Reads > 0 {
		n.gap = max(1, sim.Time(float64(spec.ReadSize)*float64(spec.Tasks)*1e9/float64(spec.Reads)))
		n.readAt = slices.Repeat([]sim.Time{sim.Never}, spec.Tasks)
	}
	return n
}

func (c *pageCache) tick(t sim.Time) int64 { return int64((t + c.phase) / c.cfg.Tick) }

// wake is when schedule_timeout returns: a timer never fires early, so it is
// at the first tick after that many whole ones.
func (c *pageCache) wake(now sim.Time, ticks int64) sim.Time {
	return sim.Time(c.tick(now)+ticks+1)*c.cfg.Tick - c.phase
}

func (c *pageCache) writer(worker int) *dirtier { return &c.writers[worker] }

// schedule finds out when anything happens next.
func (c *pageCache) schedule() {
	c.next = c.kupdate
	for i := range c.neighbours {
		c.next = min(c.next, c.neighbours[i].next)
	}
	for i := range c.deletes {
		c.next = min(c.next, c.deletes[i].next)
	}
	c.next = min(c.next, c.warm.next)
}

// look finds out what the neighbour does next.
func (n *neighbour) look() {
	n.next = min(n.start, n.stop)
	for i := range n.tasks {
		if n.tasks[i].next < n.next {
			n.next, n.nextOne = n.tasks[i].next, i
		}
	}
	for i, at := range n.readAt {
		if at < n.next {
			n.next, n.nextOne = at, len(n.tasks)+i
		}
	}
}

// advance is all that happens up to t.
func (c *pageCache) advance(t sim.Time) {
	for c.next <= t {
		now := c.next
		if c.kupdate == now {
			c.periodic(now)
		}
		for i := range c.neighbours {
			if n := &c.neighbours[i]; n.next == now {
				c.act(n, now)
				n.look()
			}
		}
		for i := range c.deletes {
			if d := &c.deletes[i]; d.next == now {
				c.unlink(d, now)
			}
		}
		if c.warm.next == now {
			c.warmNext(now)
		}
		c.schedule()
	}
	c.settle(t)
}

// periodic is wb_check_old_data_flush and wb_check_background_flush.
func (c *pageCache) periodic(now sim.Time) {
	c.settle(now)
	// The slot about to be overwritten is that of the look that lies
	// dirty_expire_centisecs back, or of the first one further back.
	slot := c.kupdates % len(c.history)
	if c.kupdates >= len(c.history) {
		c.old = c.history[slot]
	}
	c.history[slot] = c.total
	c.kupdates++
	c.kupdate += c.cfg.Writeback
	if c.old > c.written || c.stock > c.background {
		c.startWriting(now)
	}
}

func (c *pageCache) startWriting(now sim.Time) {
	if !c.writing {
		c.writing, c.since = true, max(now, c.syncUntil)
	}
}

// settle is what the flusher wrote up to t.
func (c *pageCache) settle(t sim.Time) {
	if !c.writing || t < c.since {
		return
	}
	goal := min(max(c.stock-c.background, c.old-c.written), c.stock-c.syncPages)
	n := min(int64((t-c.since)/c.pageTime), goal)
	if n > 0 {
		c.stock -= n
		c.written += n
		c.since += sim.Time(n) * c.pageTime
		c.brokerDirty = min(c.brokerDirty, c.stock-c.syncPages)
	}
	if n >= goal {
		c.writing = false
	}
}

// sync is msync of the commit log's dirty pages, begun now; until is when it
// would end if there were none.
func (c *pageCache) sync(now, until sim.Time) sim.Time {
	until += max(0, c.disk.until-now) + sim.Time(c.brokerDirty)*c.pageTime
	c.syncPages, c.brokerDirty, c.dirtyTo = c.brokerDirty, 0, Absent
	c.syncUntil = until
	c.since = max(c.since, until)
	return until
}

// delaySync has the sync under way end later.
func (c *pageCache) delaySync(until sim.Time) {
	c.syncUntil = max(c.syncUntil, until)
	c.since = max(c.since, until)
}

// synced is the end of sync.
func (c *pageCache) synced() {
	c.stock -= c.syncPages
	c.written += c.syncPages
	c.syncPages = 0
}

// act is what a neighbour does now.
func (c *pageCache) act(n *neighbour, now sim.Time) {
	switch {
	case now == n.stop:
		n.stop = sim.Never
		for i := range n.tasks {
			n.tasks[i].next = sim.Never
		}
		for i := range n.readAt {
			n.readAt[i] = sim.Never
		}
	case now == n.start:
		n.begin(now)
		for i := range n.tasks {
			d := &n.tasks[i]
			// A task that sleeps over the limit when its burst ends still does
			// when the next one begins: what new tasks may dirty before they are
			// first asked would have no bound.
			if !d.retry {
				*d = dirtier{cpu: d.cpu, quota: initialQuota, next: sim.Never}
			}
			if n.step > 0 {
				d.next = now + n.step*sim.Time(i+1)/sim.Time(len(n.tasks))
			}
		}
		for i := range n.readAt {
			n.readAt[i] = now + n.gap*sim.Time(i+1)/sim.Time(len(n.readAt))
		}
	case n.nextOne >= len(n.tasks):
		// It reads again when it has got this, if that is later.
		gap := n.gap/2 + sim.Time(n.reads.Uint64n(uint64(n.gap)+1))
		n.readAt[n.nextOne-len(n.tasks)] = max(now+gap, c.read(now, n.spec.ReadSize))
	default:
		took := n.step/2 + sim.Time(n.stream.Uint64n(uint64(n.step)+1))
		c.write(&n.tasks[n.nextOne], now, took)
	}
}

// write is a task that ends a write, or its sleep; the next write takes step.
func (c *pageCache) write(d *dirtier, now, step sim.Time) {
	c.settle(now)
	balance := d.asleep && d.retry
	if !d.asleep {
		c.dirtied(d, writePages)
		balance = c.quotaReached(d)
	}
	d.asleep, d.next = false, now+step
	if balance {
		if ticks := c.balance(d, now); ticks > 0 {
			d.asleep, d.next = true, c.wake(now, ticks)
		}
	}
}

// dirtied is folio_account_dirtied.
func (c *pageCache) dirtied(d *dirtier, pages int64) {
	d.pages += pages
	c.perCPU[d.cpu] += pages
	c.stock += pages
	c.total += pages
}

// quotaReached is balance_dirty_pages_ratelimited: whether the task is to be
// balanced after what it dirtied.
func (c *pageCache) quotaReached(d *dirtier) bool {
	quota := d.quota
	if c.exceeded {
		quota = min(quota, exceededQuota)
	}
	if d.pages < quota && c.perCPU[d.cpu] < c.perCPUMost {
		return false
	}
	c.perCPU[d.cpu] = 0
	d.owed, d.retry = d.pages, false
	return true
}

// balance is one round of balance_dirty_pages: for how many ticks the task
// sleeps, 0 for not at all. With retry there is another round afterwards.
func (c *pageCache) balance(d *dirtier, now sim.Time) (ticks int64) {
	tick := c.tick(now)
	d.retry = false
	if c.stock > c.background {
		c.startWriting(now)
	}
	if c.stock <= c.freerun {
		c.exceeded = false
		d.pausedTick, d.pages, d.quota = tick, 0, c.pollInterval()
		return 0
	}
	c.exceeded = c.stock > c.limit
	ratio := c.positionRatio()
	c.updateRate(tick, ratio)
	taskRate := c.rate * ratio >> ratioShift
	maxPause := min(c.stock/(1+c.bandwidth/roundUpPow2(1+c.hz/8))+1, c.hz/5) // wb_max_pause, MAX_PAUSE
	minPause, quota := c.minPause(maxPause, taskRate)
	pause := maxPause
	if taskRate > 0 {
		period := c.hz * d.owed / taskRate
		pause = period
		if d.pausedTick != 0 {
			pause -= tick - d.pausedTick
		}
		if pause < minPause {
			switch {
			case pause < -c.hz:
				d.pausedTick, d.pages = tick, 0
			case period > 0:
				d.pausedTick += period
				d.pages = 0
			case d.quota <= d.owed:
				d.quota += d.owed
			}
			return 0
		}
		if pause > maxPause {
			tick += min(pause-maxPause, maxPause)
			pause = maxPause
		}
	}
	d.pausedTick, d.pages, d.quota = tick+pause, 0, quota
	d.retry = taskRate == 0
	return pause
}

// pollInterval is dirty_poll_interval.
func (c *pageCache) pollInterval() int64 {
	if c.limit <= c.stock {
		return 1
	}
	return 1 << (log2(c.limit-c.stock) / 2)
}

// positionRatio is wb_position_ratio: by how much tasks are to be faster or
// slower than the balanced rate, 1 being 1024; 0 at the limit.
func (c *pageCache) positionRatio() int64 {
	if c.stock >= c.limit {
		return 0
	}
	setpoint := (c.freerun + c.limit) / 2
	x := ((setpoint - c.stock) << ratioShift) / ((c.limit - setpoint) | 1)
	ratio := x
	ratio = ratio * x >> ratioShift
	ratio = ratio * x >> ratioShift
	ratio = min(max(ratio+1<<ratioShift, 0), 2<<ratioShift)
	// The control line of the disk, which has all of the limit.
	span := 8 * c.bandwidth
	if end := setpoint + span; c.stock < end-span/4 {
		return ratio * (end - c.stock) / (span | 1)
	}
	return ratio / 4
}

// updateRate is wb_update_dirty_ratelimit, each BANDWIDTH_INTERVAL.
func (c *pageCache) updateRate(tick, ratio int64) {
	elapsed := tick - c.stampTick
	if elapsed <= c.hz/5 {
		return
	}
	dirtied := c.total - c.stampTotal
	c.stampTick, c.stampTotal = tick, c.total
	if elapsed > c.hz { // a quiet time went before
		return
	}
	dirtyRate := dirtied * c.hz / elapsed
	taskRate := c.rate*ratio>>ratioShift + 1
	balanced := min(taskRate*c.bandwidth/(dirtyRate|1), c.bandwidth)
	step := int64(0)
	if c.stock < (c.freerun+c.limit)/2 {
		step = max(0, min(c.balancedRate, balanced, taskRate)-c.rate)
	} else {
		step = max(0, c.rate-max(c.balancedRate, balanced, taskRate))
	}
	if shift := c.rate / (2*step + 1); shift < 64 {
		step = (step>>shift + 7) / 8
	} else {
		step = 0
	}
	if c.rate < balanced {
		c.rate += step
	} else {
		c.rate -= step
	}
	c.rate = max(c.rate, 1)
	c.balancedRate = balanced
}

// minPause is wb_min_pause: below which the task need not sleep, and its next
// quota.
func (c *pageCache) minPause(maxPause, taskRate int64) (pause, quota int64) {
	t := max(1, c.hz/100)
	if hi, lo := log2(c.bandwidth), log2(c.rate); hi > lo {
		t += (hi - lo) * (10 * c.hz) / 1024
	}
	t = min(t, 1+maxPause/2)
	second := roundUpPow2(c.hz)
	quota = c.rate * t / second
	if quota < pollThreshold {
		t = maxPause
		quota = c.rate * t / second
		if quota > pollThreshold {
			quota = pollThreshold
			t = c.hz * pollThreshold / c.rate
		}
	}
	if c.hz*quota/(taskRate+1) > maxPause {
		t = maxPause
		quota = taskRate * t / second
	}
	if quota >= pollThreshold {
		return 1 + t/2, quota
	}
	return t, quota
}

func log2(n int64) int64 { return int64(bits.Len64(uint64(n))) - 1 }

func roundUpPow2(n int64) int64 { return 1 << bits.Len64(uint64(n-1)) }
