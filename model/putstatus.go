package model

import "fmt"

// PutStatus is PutMessageStatus: how the store answered a put. Traits.StatusName
// spells it as the release does.
type PutStatus uint8

// The statuses that a send can be answered with.
const (
	PutOK PutStatus = iota
	PutFlushDiskTimeout
	PutFlushSlaveTimeout
	PutSlaveNotAvailable
	PutServiceNotAvailable
	PutCreateMapedFileFailed
	PutMessageIllegal
	PutOSPageCacheBusy
	PutUnknownError
	PutInSyncReplicasNotEnough // 5.x
	putStatuses
)

var putStatusNames = [putStatuses]string{
	"PUT_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE", "SERVICE_NOT_AVAILABLE",
	"CREATE_MAPEDFILE_FAILED", "MESSAGE_ILLEGAL", "OS_PAGECACHE_BUSY", "UNKNOWN_ERROR",
	"IN_SYNC_REPLICAS_NOT_ENOUGH",
}

// StatusName is the status as the release spells it: 5.x mended two of the
// names of 4.x (facts §3.3).
func (t *Traits) StatusName(s PutStatus) string {
	switch {
	case s >= putStatuses:
		return fmt.Sprintf("PutStatus(%d)", uint8(s))
	case t.MendedStatusNames && s == PutCreateMapedFileFailed:
		return "CREATE_MAPPED_FILE_FAILED"
	case t.MendedStatusNames && s == PutOSPageCacheBusy:
		return "OS_PAGE_CACHE_BUSY"
	default:
		return putStatusNames[s]
	}
}

// RemarkPCSynchronized is the remark of OS_PAGECACHE_BUSY (facts §3.3).
const RemarkPCSynchronized = "[PC_SYNCHRONIZED]broker busy, start flow control for a while"

// Stored reports whether the message is in the commit log.
func (s PutStatus) Stored() bool { return s <= PutSlaveNotAvailable }

// DiskUsed are the shares of the disks in use, 0 to 1, that the remark of
// SERVICE_NOT_AVAILABLE tells: commit log, consume queue and index.
type DiskUsed struct{ CL, CQ, Index float64 }

// Response is SendMessageProcessor.handlePutMessageResult: the response code,
// the remark and the outcome of a status, by release (facts §3.3).
func (t *Traits) Response(s PutStatus, maxMessageSize int64, disk DiskUsed) (code int32, remark string, o Outcome) {
	switch s {
	case PutOK:
		return CodeSuccess, "", OK
	case PutFlushDiskTimeout:
		return CodeFlushDiskTimeout, "", FlushDiskTimeout
	case PutFlushSlaveTimeout:
		return CodeFlushSlaveTimeout, "", FlushSlaveTimeout
	case PutSlaveNotAvailable:
		return CodeSlaveNotAvailable, "", SlaveNotAvailable
	case PutCreateMapedFileFailed:
		return CodeSystemError, "create mapped file failed, server is busy or broken.", Other
	case PutMessageIllegal:
		if t.LimitsBodyOnly {
			return CodeMessageIllegal, fmt.Sprintf(t.IllegalRemark, maxMessageSize), Other
		}
		return CodeMessageIllegal, t.IllegalRemark, Other
	case PutServiceNotAvailable:
		return CodeServiceNotAvailable, fmt.Sprintf(t.UnavailableRemark, disk.CL, disk.CQ, disk.Index), Other
	case PutOSPageCacheBusy:
		return t.PCSynchronizedCode, RemarkPCSynchronized, PCSynchronized
	case PutInSyncReplicasNotEnough:
		return CodeSystemError, "in-sync replicas not enough", Other
	case PutUnknownError:
		return CodeSystemError, "UNKNOWN_ERROR", Other
	default:
		return CodeSystemError, "UNKNOWN_ERROR DEFAULT", Other
	}
}

// recordOverheadBytes is the length of a commit-log record beside body, topic
// and properties, with IPv4 hosts (facts §10.1); nameBytes is what the model
// takes topic and properties to be.
const (
	recordOverheadBytes = 91
	nameBytes           = 100
)

// Illegal reports whether a message of that body is too large: up to 4.9.3
// the whole record is held against maxMessageSize, then the body (facts §10.5).
func (t *Traits) Illegal(bodyBytes, maxMessageSize int64) bool {
	if t.LimitsBodyOnly {
		return bodyBytes > maxMessageSize
	}
	return bodyBytes+recordOverheadBytes+nameBytes > maxMessageSize
}
