package model

// logEnd is how far a broker's commit log has come: offsets in bytes, of which
// 0 is where the file begins that was current when the run began.
type logEnd struct {
	wrote    int64 // end of the last append, or of the file that it filled up
	readable int64 // what replica and consumers see: all of it, or with the transient pool what is committed
	flushed  int64 // what a power cut leaves

	perRecord int64 // what a record has beside its body

	fileSize int64
	fileEnd  int64 // of the last file: 0 if there is none yet
}

// fits reports whether a record of that length goes into the last file: its
// blank record must fit as well (facts §6.3).
func (l *logEnd) fits(length int64) bool { return l.wrote+length+blankLeast <= l.fileEnd }

// recordFixed is the length of a commit-log record beside its body, topic and
// properties, with IPv4 hosts (facts §10.1); blankLeast what a file keeps free
// for the blank record that ends it (facts §6.3).
const (
	recordFixed = 91
	blankLeast  = 8
)

// recordLength is that of a record in the commit log, for a body of so many
// bytes (facts §10.1).
func (c *Config) recordLength(body int64) int64 {
	if c.Store.Profile == nil && c.Store.PageCache == nil {
		return recordFixed + nameBytes + body
	}
	return recordFixed + c.Store.TopicLength + c.Store.PropertiesLength + body
}

// recordsLength is that of all records of a send.
func (b *broker) recordsLength(a *attempt) int64 {
	return b.producers[a.Producer].batch()*b.log.perRecord + a.Body
}
