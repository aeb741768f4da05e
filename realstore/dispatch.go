package realstore

import (
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// queue is a topic's queue: the offset that its next message gets, and where
// the entries of its messages stand.
type queue struct {
	next int64 // under the put lock
	cq   *consumeQueue
}

type queueKey struct {
	topic string
	id    int32
}

// queueTable finds queues by topic and id. It is read without a lock and copied
// for each new queue.
type queueTable struct {
	all  atomic.Pointer[map[queueKey]*queue]
	mu   sync.Mutex
	v    volume
	root string
	size int64
}

func (t *queueTable) init(s *Store) {
	t.v, t.root = s.v, filepath.Join(s.dir, consumeQueueDir)
	t.all.Store(&map[queueKey]*queue{})
}

// find returns a queue, nil where it is new.
func (t *queueTable) find(topic string, id int32) *queue {
	return (*t.all.Load())[queueKey{topic, id}]
}

// of returns a queue, and makes it where it is new.
func (t *queueTable) of(topic string, id int32) *queue {
	if q := t.find(topic, id); q != nil {
		return q
	}
	return t.add(topic, id)
}

func (t *queueTable) ofBytes(topic []byte, id int32) *queue {
	if q := (*t.all.Load())[queueKey{string(topic), id}]; q != nil {
		return q
	}
	return t.add(string(topic), id)
}

func (t *queueTable) add(topic string, id int32) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := *t.all.Load()
	key := queueKey{topic, id}
	if q := old[key]; q != nil {
		return q
	}
	grown := make(map[queueKey]*queue, len(old)+1)
	for k, q := range old {
		grown[k] = q
	}
	q := &queue{cq: &consumeQueue{
		v: t.v, dir: filepath.Join(t.root, topic, strconv.Itoa(int(id))), fileBytes: t.size,
	}}
	grown[key] = q
	t.all.Store(&grown)
	return q
}

func (t *queueTable) close() error {
	var err error
	for _, q := range *t.all.Load() {
		err = errors.Join(err, q.cq.close())
	}
	return err
}

// dispatchLoop brings appended messages into the consume queues and the index
// (DefaultMessageStore.ReputMessageService, with its sleep of 1 ms). After some
// idle rounds it waits to be woken.
func (s *Store) dispatchLoop() {
	for idle := 0; ; {
		n, err := s.dispatch(1 << 10)
		if err != nil {
			s.fail(err)
			return
		}
		if n > 0 {
			idle = 0
		} else {
			idle++
		}
		pause := time.Millisecond
		if idle > 20 {
			s.idle.Store(true)
			// An append that came before it could see this must not be missed.
			if s.dispatched.Load() < s.MaxOffset() {
				s.idle.Store(false)
			} else {
				pause = time.Second
			}
		}
		if n == 1<<10 {
			select {
			case <-s.dispatcher.quit:
				return
			default:
				continue
			}
		}
		ok := s.dispatcher.wait(pause)
		s.idle.Store(false)
		if !ok {
			return
		}
	}
}

// dispatch brings up to limit messages into queues and index, and returns how
// many it found.
func (s *Store) dispatch(limit int) (n int, err error) {
	err = guard("dispatch", func() error {
		var r Record
		for n < limit {
			off := s.dispatched.Load()
			f := s.fileAt(off)
			if f == nil {
				return nil
			}
			end := f.readable()
			if off-f.base >= end {
				return nil
			}
			size, d := decode(f.m.data()[off-f.base:end], &r, false)
			if d != Sound {
				return errors.Join(ErrDamaged, errors.New("dispatch: "+d.String()))
			}
			if r.Magic == MagicBlank {
				s.dispatched.Store(f.end())
				continue
			}
			if err := s.dispatchOne(&r); err != nil {
				return err
			}
			n++
			s.logicsTime.Store(r.StoreTimestamp)
			s.dispatched.Store(off + int64(size))
		}
		return nil
	})
	return n, err
}

func (s *Store) dispatchOne(r *Record) error {
	p := parse(r.Properties)
	if queued(r.SysFlag) {
		q := s.queues.ofBytes(r.Topic, r.QueueID)
		if err := q.cq.put(r.QueueOffset, QueueEntry{r.PhysicalOffset, r.Size, tagsCode(r, &p)}); err != nil {
			return err
		}
	}
	if s.idx != nil {
		return s.idx.add(r, &p)
	}
	return nil
}
