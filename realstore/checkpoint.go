package realstore

import (
	"encoding/binary"
	"path/filepath"
	"sync"
)

const checkpointBytes = 4096

// Checkpoint is the file of that name: store timestamps, in ms, up to which each
// part had reached the disk (StoreCheckpoint). The last two stand in it since 5.0.0.
type Checkpoint struct {
	PhysicMsgTimestamp int64 `json:"physicMsgTimestamp"`
	LogicsMsgTimestamp int64 `json:"logicsMsgTimestamp"`
	IndexMsgTimestamp  int64 `json:"indexMsgTimestamp"`
	MasterFlushed      int64 `json:"masterFlushedOffset"`
	ConfirmPhyOffset   int64 `json:"confirmPhyOffset"`
}

// MinTimestamp is the time before which log and queues are surely on disk:
// 3 s before the lower of the two, or 0.
func (c Checkpoint) MinTimestamp() int64 {
	return max(0, min(c.PhysicMsgTimestamp, c.LogicsMsgTimestamp)-3000)
}

func parseCheckpoint(b []byte) Checkpoint {
	var at [5]int64
	for i := range at {
		if len(b) >= 8*i+8 {
			at[i] = int64(binary.BigEndian.Uint64(b[8*i:]))
		}
	}
	return Checkpoint{at[0], at[1], at[2], at[3], at[4]}
}

// checkpointFile is the checkpoint of an open store. What it holds has already
// been synced where it is: set only raises.
type checkpointFile struct {
	mu       sync.Mutex
	m        mapping
	now      Checkpoint
	withLogs bool // 5.0.0: flushed and confirmed offsets too
}

func openCheckpoint(v volume, root string, t traits) (*checkpointFile, error) {
	path := filepath.Join(root, checkpointName)
	es, err := v.list(root)
	if err != nil {
		return nil, err
	}
	for _, e := range es {
		if e.name == checkpointName && e.size == checkpointBytes {
			m, err := v.open(path)
			if err != nil {
				return nil, err
			}
			return &checkpointFile{m: m, now: parseCheckpoint(m.data()), withLogs: t.checkpointHasFlushOffsets}, nil
		}
	}
	m, err := v.create(path, checkpointBytes, false)
	if err != nil {
		return nil, err
	}
	if err := v.syncDir(root); err != nil {
		return nil, err
	}
	return &checkpointFile{m: m, withLogs: t.checkpointHasFlushOffsets}, nil
}

func (c *checkpointFile) read() Checkpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// set changes what the next flush writes.
func (c *checkpointFile) set(f func(*Checkpoint)) {
	c.mu.Lock()
	f(&c.now)
	c.mu.Unlock()
}

// flush writes the checkpoint and waits until it is on disk.
func (c *checkpointFile) flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return guard(checkpointName, func() error {
		b, n := c.m.data(), c.now
		for i, v := range [...]int64{n.PhysicMsgTimestamp, n.LogicsMsgTimestamp, n.IndexMsgTimestamp, n.MasterFlushed, n.ConfirmPhyOffset} {
			if i < 3 || c.withLogs {
				binary.BigEndian.PutUint64(b[8*i:], uint64(v))
			}
		}
		return c.m.sync(0, checkpointBytes)
	})
}
