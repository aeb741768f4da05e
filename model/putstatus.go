package model

import "fmt"

// PutStatus is PutMessageStatus: how the store answered a put. Names are the
// 4.x ones; 5.x spells OS_PAGECACHE_BUSY as OS_PAGE_CACHE_BUSY and
// CREATE_MAPEDFILE_FAILED as CREATE_MAPPED_FILE_FAILED (facts §3.3).
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
)

// RemarkPCSynchronized is the remark of OS_PAGECACHE_BUSY (facts §3.3).
const RemarkPCSynchronized = "[PC_SYNCHRONIZED]broker busy, start flow control for a while"

// Stored reports whether the message is in the commit log.
func (s PutStatus) Stored() bool { return s <= PutSlaveNotAvailable }

// Response is SendMessageProcessor.handlePutMessageResult: the response code,
// the remark and the outcome of a status, by release (facts §3.3).
func (t *Traits) Response(s PutStatus, maxMessageSize int64) (code int32, remark string, o Outcome) {
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
		return CodeServiceNotAvailable, "service not available now", Other
	case PutOSPageCacheBusy:
		return t.PCSynchronizedCode, RemarkPCSynchronized, PCSynchronized
	default:
		return CodeSystemError, "UNKNOWN_ERROR", Other
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
