package sim

import "fmt"

// Kind says what an event is. Its high 4 bits are the class: of the events at
// one instant those of a lower class run first, and within a class those
// scheduled first. Make one with MakeKind, or as a constant, which a switch
// dispatches faster: class*KindsPerClass + n.
type Kind uint16

const (
	// Classes is the number of classes, KindsPerClass that of kinds in each.
	Classes       = 16
	KindsPerClass = 2048

	// ArgMax is the largest argument an event can carry.
	ArgMax = 1<<48 - 1
)

// MakeKind returns the n-th kind (0..2047) of a class (0..15). It panics
// outside of these: kinds are fixed in the program text.
func MakeKind(class, n int) Kind {
	if uint(class) >= Classes || uint(n) >= KindsPerClass {
		panic(fmt.Sprintf("sim: MakeKind(%d, %d): want a class below %d and a number below %d", class, n, Classes, KindsPerClass))
	}
	return Kind(class*KindsPerClass + n)
}

// Class returns the kind's class.
func (k Kind) Class() int { return int(k / KindsPerClass) }

func (k Kind) String() string { return fmt.Sprintf("%d.%d", k.Class(), k%KindsPerClass) }
