package model

// logEnd is how far a broker's commit log has come, in bytes since the run
// began.
type logEnd struct {
	wrote    int64 // end of the last append
	readable int64 // what replica and consumers see: all of it, or with the transient pool what is committed
	flushed  int64 // what a power cut leaves
}

// recordLength is that of a record in the commit log, for a body of so many
// bytes (facts §10.1).
func (c *Config) recordLength(body int64) int64 {
	if c.Store.Profile == nil && c.Store.PageCache == nil {
		return recordFixed + nameBytes + body
	}
	return recordFixed + c.Store.TopicLength + c.Store.PropertiesLength + body
}
