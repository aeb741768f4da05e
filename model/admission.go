package model

// Response codes of RocketMQ that the send path gives (facts §2.4).
const (
	CodeSuccess             = 0
	CodeSystemError         = 1
	CodeSystemBusy          = 2
	CodeFlushDiskTimeout    = 10
	CodeSlaveNotAvailable   = 11
	CodeFlushSlaveTimeout   = 12
	CodeMessageIllegal      = 13
	CodeServiceNotAvailable = 14
	CodeNoPermission        = 16
	CodeTopicNotExist       = 17
	CodeNoBuyerID           = 204
	CodeNotInCurrentUnit    = 205
)

// Remarks of the answers given before a request is queued (facts §2.1).
const (
	RemarkRejectRequest = "[REJECTREQUEST]system busy, start flow control for a while"
	RemarkOverload      = "[OVERLOAD]system busy, start flow control for a while"
)

// Reject is SendMessageProcessor.rejectRequest, asked by the codec thread on
// arrival: before the timestamp and the queue, so a send that passes it may
// still meet [OVERLOAD] when it is offered to the queue (facts §2.1, §2.3,
// §15.3, 6). The page cache is busy, or the transient pool deficient: it has no
// buffer free; NoPool is for a broker without one.
func Reject(lock *LockState, nowMs, osPageCacheBusyTimeOutMills int64, freeBuffers int) bool {
	return lock.Busy(nowMs, osPageCacheBusyTimeOutMills) || freeBuffers == 0
}
