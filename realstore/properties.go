package realstore

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"strconv"
	"strings"
)

// Separators of a message's properties (MessageDecoder).
const (
	nameSeparator     = 1
	propertySeparator = 2
)

// Names of the properties that the store itself reads (MessageConst).
const (
	PropertyTags    = "TAGS"
	PropertyKeys    = "KEYS"
	PropertyUniqKey = "UNIQ_KEY"
	PropertyDelay   = "DELAY"
	PropertyWait    = "WAIT"

	scheduleTopic = "SCHEDULE_TOPIC_XXXX"
)

// Properties are a message's properties as the record holds them: name, 0x01,
// value, 0x02, and so on; the last 0x02 is missing in 4.9.1 to 5.1.4. The store
// keeps the bytes that it is given.
type Properties string

// Property is a name with its value.
type Property struct{ Name, Value string }

// MakeProperties joins pairs in their order, with the separator at the end that
// the release writes (see Options.Release). Names and values must not hold the
// bytes 0x01 and 0x02, nor be empty: those that do are left out.
func MakeProperties(release string, pairs ...Property) Properties {
	t, err := traitsOf(release)
	var b strings.Builder
	for _, p := range pairs {
		if p.Name == "" || p.Value == "" || strings.ContainsAny(p.Name+p.Value, "\x01\x02") {
			continue
		}
		b.WriteString(p.Name)
		b.WriteByte(nameSeparator)
		b.WriteString(p.Value)
		b.WriteByte(propertySeparator)
	}
	s := b.String()
	if err == nil && !t.propertiesEndInSeparator {
		s = strings.TrimSuffix(s, "\x02")
	}
	return Properties(s)
}

// All ranges over the properties, as text. Parts that are no name and value are
// skipped (MessageDecoder.string2messageProperties).
func (p Properties) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for name, value := range pairs([]byte(p)) {
			if !yield(string(name), string(value)) {
				return
			}
		}
	}
}

func pairs(props []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		for len(props) > 0 {
			part := props
			if i := bytes.IndexByte(props, propertySeparator); i >= 0 {
				part, props = props[:i], props[i+1:]
			} else {
				props = nil
			}
			i := bytes.IndexByte(part, nameSeparator)
			if i <= 0 || i+1 == len(part) || bytes.IndexByte(part[i+1:], nameSeparator) >= 0 {
				continue
			}
			if !yield(part[:i], part[i+1:]) {
				return
			}
		}
	}
}

// Map returns the properties; of several with one name the last stands.
func (p Properties) Map() map[string]string {
	m := make(map[string]string)
	for k, v := range p.All() {
		m[k] = v
	}
	return m
}

// stored are the properties of a record that the store reads, nil where missing.
type stored struct {
	tags, keys, uniqKey, delay []byte
	proper                     bool // names and values, nothing else
}

// parse goes through a record's properties once, without allocating. The last
// one of a name stands, as in a map that is filled in order.
func parse(props []byte) stored {
	s := stored{proper: true}
	for from := 0; from < len(props); {
		mid := separator(props, from)
		end, many := mid, false
		if mid < len(props) && props[mid] == nameSeparator {
			end = separator(props, mid+1)
			for ; end < len(props) && props[end] == nameSeparator; end = separator(props, end+1) {
				many = true
			}
		}
		name := props[from:mid]
		if from = end + 1; len(name) == 0 || mid+1 >= end || many {
			// An empty value is left out by those who read it, but written by some.
			s.proper = s.proper && len(name) > 0 && mid+1 == end
			continue
		}
		switch value := props[mid+1 : end]; string(name) {
		case PropertyTags:
			s.tags = value
		case PropertyKeys:
			s.keys = value
		case PropertyUniqKey:
			s.uniqKey = value
		case PropertyDelay:
			s.delay = value
		}
	}
	return s
}

// separator finds the first separator from i on, the length where there is none.
func separator(b []byte, i int) int {
	const ones = 0x0101010101010101
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		low := (x - 3*ones) &^ x & (0x80 * ones) // its lowest bit is of the first byte below 3
		if low == 0 {
			i += 8
			continue
		}
		if i += bits.TrailingZeros64(low) / 8; b[i] != 0 {
			return i
		}
		i++
	}
	for ; i < len(b) && b[i] != nameSeparator && b[i] != propertySeparator; i++ {
	}
	return i
}

// Pairs ranges over the names and values of the record's properties, as they lie
// in it.
func (r *Record) Pairs() iter.Seq2[[]byte, []byte] { return pairs(r.Properties) }

// Labels returns the properties by which messages are looked for, as they lie in
// the record; nil where missing.
func (r *Record) Labels() (tags, keys, uniqKey []byte) {
	s := parse(r.Properties)
	return s.tags, s.keys, s.uniqKey
}

// wants tells whether the properties of a message ask to wait for the flush:
// WAIT is true where it is missing.
func (p Properties) wants() bool {
	const not = PropertyWait + "\x01false"
	s := string(p)
	for {
		i := strings.Index(s, not)
		if i < 0 {
			return true
		}
		if end := i + len(not); (i == 0 || s[i-1] == propertySeparator) && (end == len(s) || s[end] == propertySeparator) {
			return false
		}
		s = s[i+1:]
	}
}

func hasNUL(b []byte) bool { return bytes.IndexByte(b, 0) >= 0 }

// delayLevels are the delays of messageDelayLevel's default, in ms, level 1 first.
var delayLevels = [...]int64{
	1e3, 5e3, 10e3, 30e3, 60e3, 120e3, 180e3, 240e3, 300e3, 360e3, 420e3, 480e3, 540e3, 600e3, 1200e3, 1800e3, 3600e3, 7200e3,
}

// tagsCode is what the consume queue holds of a message: its tags' hash, or, of
// a delayed one in the schedule topic, when it is due
// (CommitLog.checkMessageAndReturnSize, 4.3.2).
func tagsCode(r *Record, p *stored) int64 {
	if string(r.Topic) == scheduleTopic {
		if v := p.delay; len(v) > 0 && len(v) < 11 {
			if level, err := strconv.Atoi(string(v)); err == nil && level > 0 {
				return r.StoreTimestamp + delayLevels[min(level, len(delayLevels))-1]
			}
		}
	}
	return int64(javaHash(0, p.tags))
}

// keyHash is the hash of a key in the index, after that of the topic and '#'
// (IndexFile.indexKeyHashMethod).
func keyHash(topic int32, key []byte) int32 {
	h := javaHash(topic, key)
	if h < 0 {
		h = -h
	}
	return max(h, 0) // the least integer is its own negative
}

// topicHash is the hash of a topic and '#', with which those of its keys begin.
func topicHash[T string | []byte](topic T) int32 { return 31*javaHash(0, topic) + '#' }

// indexKeys calls f with the hash of each key of a message, in the order in
// which the index takes them (IndexService.buildIndex). Rolled-back messages
// have none.
func indexKeys(r *Record, p *stored, f func(hash int32) error) error {
	return keyHashes(topicHash(r.Topic), r, p, f)
}

// keyHashes is indexKeys for those who know the topic's hash.
func keyHashes(topic int32, r *Record, p *stored, f func(hash int32) error) error {
	if r.SysFlag&maskTransaction == FlagRollback {
		return nil
	}
	if len(p.uniqKey) > 0 {
		if err := f(keyHash(topic, p.uniqKey)); err != nil {
			return err
		}
	}
	for keys := p.keys; len(keys) > 0; {
		key := keys
		if i := bytes.IndexByte(keys, ' '); i >= 0 {
			key, keys = keys[:i], keys[i+1:]
		} else {
			keys = nil
		}
		if len(key) > 0 {
			if err := f(keyHash(topic, key)); err != nil {
				return err
			}
		}
	}
	return nil
}

// queued tells whether a message stands in a consume queue: prepared and
// rolled-back ones don't.
func queued(sysFlag int32) bool {
	return sysFlag&maskTransaction == 0 || sysFlag&maskTransaction == FlagCommit
}
