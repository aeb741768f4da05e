package scenarios

import "brokersim/model"

// replica decodes [replica].
func (d *decoder) replica(t *replicaTable, settings *model.Settings) model.Replica {
	r := model.DefaultReplica()
	if t.node == nil {
		return r
	}
	if t.node.child("slaves") != nil {
		r.Slaves = int(t.Slaves)
	}
	r.Network = d.within(t.Network, serviceMost).or(r.Network)
	r.Append = d.within(t.Append, serviceMost).or(r.Append)
	d.bytes(t.Bandwidth.size, 1000, 1<<40)
	r.Bandwidth = t.Bandwidth.or(r.Bandwidth)
	if settings.BrokerRole != model.SyncMaster {
		d.note(t.node, "no effect: only a SYNC_MASTER waits for slaves, brokerRole is %s", settings.BrokerRole)
	}
	return r
}

// afterPut checks what has to do with waiting for flush and replica against
// each other.
func (d *decoder) afterPut(doc *document, c *model.Config) {
	sync, master := c.Broker.FlushDiskType == model.SyncFlush, c.Broker.BrokerRole == model.SyncMaster
	if n := doc.Store.Flush.node; n != nil && !sync && c.Store.PageCache == nil {
		d.note(n, "no effect: only SYNC_FLUSH waits for a flush, flushDiskType is %s", c.Broker.FlushDiskType)
	}
	if traits, err := model.TraitsOf(c.Broker.Release); err == nil && master && traits.ReplicaNeedsInSync && c.Broker.InSyncReplicas < 2 {
		d.note(doc.Broker.node, "a SYNC_MASTER of %s waits for no slave while inSyncReplicas is 1", c.Broker.Release)
	}
	for i := range doc.Stall {
		t := &doc.Stall[i]
		n := t.node.child("where")
		if n == nil {
			continue
		}
		switch {
		case t.Where == "flush" && !sync:
			d.note(n, "no effect: only SYNC_FLUSH waits for a flush, flushDiskType is %s", c.Broker.FlushDiskType)
		case (t.Where == "network" || t.Where == "replica") && !master:
			d.note(n, "no effect: only a SYNC_MASTER waits for slaves, brokerRole is %s", c.Broker.BrokerRole)
		}
		if s := t.node.child("slave"); s != nil && int(t.Slave) > c.Replica.Slaves {
			d.atValue(s, "want a slave of 1 to %d, got %d", c.Replica.Slaves, t.Slave)
		}
	}
}
