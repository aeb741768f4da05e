package ui

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// A run shorter than this shows no progress.
const progressAfter = time.Second

// Progress shows on a terminal how far a long run is; elsewhere it does
// nothing. Its methods may be called from any goroutine.
type Progress struct {
	mu    sync.Mutex
	timer *time.Timer
	bars  *mpb.Progress
	bar   *mpb.Bar
}

// NewProgress begins; total is that of Set, and say puts a value of it in
// words.
func NewProgress(w io.Writer, total int64, say func(int64) string) *Progress {
	p := new(Progress)
	if !IsTerminal(w) || total <= 0 {
		return p
	}
	began := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(progressAfter, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.timer == nil { // Done came first
			return
		}
		p.bars = mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh())
		p.bar = p.bars.New(total, mpb.BarStyle().Lbound("").Rbound("").Filler("━").Tip("━").Padding(" "),
			mpb.BarWidth(40), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Percentage(decor.WC{W: 5})),
			mpb.AppendDecorators(decor.Any(func(s decor.Statistics) string {
				return fmt.Sprintf("%s of %s", say(s.Current), say(s.Total))
			}), decor.Name(", "), decor.NewAverageETA(decor.ET_STYLE_GO, began, nil), decor.Name(" left")))
	})
	return p
}

// Set says how far the run is.
func (p *Progress) Set(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.SetCurrent(n)
	}
}

// Done takes the progress off the terminal.
func (p *Progress) Done() {
	p.mu.Lock()
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	bars, bar := p.bars, p.bar
	p.mu.Unlock()
	if bar != nil {
		bar.Abort(true)
		bars.Wait()
	}
}
