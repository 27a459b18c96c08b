/**
 * Everything that grows has a bound, named where it is enforced, which says what happens there. These are those that no
 * configuration moves and several rooms know.
 */
export const jsonDepthMax = 64;
export const headerBytesMax = 16 * 1024;
export const headersMax = 1_000;
export const headersTimeoutMs = 10_000;
export const bodyStallTimeoutMs = 60_000;
/** Bodies above this are parsed and converted in a worker, so that the loop never stalls. */
export const offLoopBodyBytes = 1024 * 1024;
/** One upstream SSE event; larger is a fault of the upstream. */
export const upstreamEventBytesMax = 1024 * 1024;
/** In formats where one event may hold a picture, or the whole answer. */
export const largeEventBytesMax = 16 * 1024 * 1024;
/** One whole upstream answer, decompressed. */
export const upstreamBodyBytesMax = 64 * 1024 * 1024;
/** Bytes of an upstream's error answer that are read to find its message. */
export const upstreamErrorBytesMax = 64 * 1024;
/** Bytes that may wait for one reader beyond the kernel's buffers. */
export const readerBufferBytesMax = 256 * 1024;
export const readerStallTimeoutMs = 60_000;
export const keepAliveAfterMs = 10_000;
/** Longest pause for all-open targets to come back before answering 503. */
export const waitForTargetMaxMs = 2_000;
/** Groups of one usage report; beyond them those that cost most are kept. */
export const usageRowsMax = 10_000;
/** Groups of one export, which leaves none out: a range with more is refused. */
export const exportedRowsMax = 100_000;

/** How long a process that has ended stays in the list of processes. */
export const endedShownMs = 10 * 60_000;

/** Processes in that list: those that were heard last. */
export const seenProcessesMax = 2_000;

/** Most addresses that are kept of the use of one key. */
export const keyPlacesMax = 20;

/** Allowed amount of a limit that only warns or counts: more than any use, and a whole number for every store. */
export const endless = Number.MAX_SAFE_INTEGER;
