/** Bounds on what any one call may read, answer and write: a short one may name every point there is. */
export interface CallBounds {
  /** Payloads read to make the answer, in characters of JSON: about three seconds of the thread. */
  readChars: number;
  /** Bytes of them, and of vectors, that may be kept for the answer. */
  answerBytes: number;
  /** Points that a call changes or deletes, each time one: by filters, and by operations that name the same ones. */
  changedPoints: number;
  /** Milliseconds that a call goes through rows which no index or column leaves out: others wait that long. */
  rowsMs: number;
  /** Multiplications for comparing points of a sample with each other: about ten seconds of the thread. */
  comparedWork: number;
  /** Characters of JSON that set, overwrite and delete of a call may write into payloads. */
  changedChars: number;
}

export const callBounds: CallBounds = {
  readChars: 1024 * 1024 * 1024,
  answerBytes: 256 * 1024 * 1024,
  changedPoints: 2_000_000,
  rowsMs: 10_000,
  comparedWork: 10_000_000_000,
  changedChars: 256 * 1024 * 1024,
};
