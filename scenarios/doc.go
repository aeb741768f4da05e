// Package scenarios reads scenario files: TOML that says what a broker is, who
// sends to it, what hurts it and what must hold. It holds the bundled ones.
//
// A file is decoded in four steps, one file of this package each. tree.go has
// toml decode the text to a generic tree, and position.go finds where each key
// and value stands; overrides are put into the tree. decode.go walks the tree
// along the types of document.go, whose tags name and bound the keys, and from
// which schema.go makes the JSON schema. broker.go reads the keys of
// broker.conf over the defaults of the release. check.go checks what is a
// matter of more than one key, and gives a model.Config; producer.go, replica.go
// and store.go do so for their tables, with the profile that profile.go reads the
// same way, and extent.go for the run as a whole.
//
// Every fault of a file is found in one go and says where, which key, what was
// wanted, what was got, and the nearest valid name (Faults). Lines and columns
// count from 1, columns in bytes. A fault inside the text of a distribution
// stands at the part at fault, if the string is a plain one on one line.
//
// Quantities carry their unit ("208ms", "43/s", "16KiB"), except the keys of
// [broker], which are as in broker.conf. Whole numbers are decoded as int64
// and checked against their bounds before anything is converted, so that -1
// never becomes a large unsigned.
//
// A file is at most 1 MiB, as is each file that it names; a run at most 1000 h,
// 1e9 arrivals, 10,000 threads in a pool, and 1 GiB of requests in the system
// at one time, at 512 bytes each: all that come while the oldest is there (rate
// x the longest stall or wait in the queue), and what comes faster than
// costs.decode lets one connection's codec thread decode. One step of a send
// takes at most 1 h in the mean. What is there but empty (a text, an array) is a
// fault, never the same as absent. Of more than 1000 faults the rest are counted.
//
// Of no rejected send, thresholds of period_in_queue hold if they bound it from
// above (see Expect).
//
// Bundled scenarios are read from the binary; what they name is in it too, and
// stands in, with a warning, for a file of that name that is missing beside a
// scenario saved elsewhere. The numbers that their stories tell are held
// against runs (TestStories).
package scenarios
