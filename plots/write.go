package plots

import (
	"bytes"
	"fmt"
	"image/png"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Figure is one of the figures of a run.
type Figure uint8

// The figures, named by String as their files are.
const (
	IncidentTimeline Figure = iota
	QueueLock
	LatencySpectrum
	Rejected
	WaitingCauses
	figures
)

func (f Figure) String() string {
	return [...]string{"incident-timeline", "queue-lock", "latency-spectrum", "rejected", "waiting-causes"}[f]
}

var painters = [figures]func(draw.Canvas, *Input){timeline, queueLock, spectrum, sweptSends, waitingCauses}

// PNG returns a figure as an image of 1200 x 700 px.
func PNG(f Figure, in Input) ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(96))
	if err := paint(f, draw.New(canvas), in); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&b, canvas.Image()); err != nil {
		return nil, fmt.Errorf("figure %v: %w", f, err)
	}
	return b.Bytes(), nil
}

// SVG returns a figure as an SVG document. Its text stays text, in Liberation Sans
// or what has the same widths.
func SVG(f Figure, in Input) ([]byte, error) {
	canvas := vgsvg.New(width, height)
	if err := paint(f, draw.New(canvas), in); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("figure %v: %w", f, err)
	}
	return bytes.ReplaceAll(b.Bytes(),
		[]byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
}

func paint(f Figure, c draw.Canvas, in Input) error {
	switch {
	case f >= figures:
		return fmt.Errorf("figure %d: want one of 0 to %d", f, figures-1)
	case in.Recorder == nil:
		return fmt.Errorf("figure %v: no recorder", f)
	}
	painters[f](c, &in)
	return nil
}
