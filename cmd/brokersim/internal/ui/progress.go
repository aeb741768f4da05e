package ui

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// What is done sooner shows no progress.
const progressAfter = time.Second

// Progress shows on a terminal how far a long run is; elsewhere it does
// nothing. Its methods may be called from any goroutine.
type Progress struct {
	mu    sync.Mutex
	began time.Time // zero: silent
	say   func(int64) string
	to    io.Writer
	bars  *mpb.Progress
	bar   *mpb.Bar
	where atomic.Value // the bar's text, a string
}

// steps is the length of a bar: mpb counts the time left in whole ns for each.
const steps = 10_000

// NewProgress begins; say puts a value of Set in words.
func NewProgress(w io.Writer, say func(int64) string) *Progress {
	p := &Progress{say: say, to: w}
	if IsTerminal(w) {
		p.began = time.Now()
	}
	return p
}

// Set says how far the run is.
func (p *Progress) Set(n, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		if p.began.IsZero() || time.Since(p.began) < progressAfter {
			return
		}
		p.start()
	}
	p.where.Store(fmt.Sprintf("%s of %s", p.say(n), p.say(total)))
	p.bar.SetCurrent(min(int64(float64(n)/float64(total)*steps), steps-1)) // Done ends it
}

func (p *Progress) start() {
	p.bars = mpb.New(mpb.WithOutput(p.to), mpb.WithAutoRefresh())
	p.bar = p.bars.New(steps, mpb.BarStyle().Lbound("").Rbound("").Filler("━").Tip("━").Padding("─"),
		mpb.BarWidth(40),
		mpb.PrependDecorators(decor.Percentage(decor.WC{W: 5})),
		mpb.AppendDecorators(
			decor.Any(func(decor.Statistics) string { return fmt.Sprintf(" %v, ", p.where.Load()) }),
			decor.NewAverageETA(decor.ET_STYLE_GO, p.began, nil), decor.Name(" left")))
}

// Done takes the progress off the terminal.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.began = time.Time{}
	if p.bar != nil {
		p.bar.Abort(true)
		p.bars.Wait()
		p.bar = nil
	}
}
