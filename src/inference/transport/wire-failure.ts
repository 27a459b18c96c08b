/** What can go wrong on a connection that stood. */
export type WireFailureCode =
  /** The peer closed it before a byte of the answer came. */
  | 'closed'
  /** The peer closed it in the middle of the answer. */
  | 'cut'
  /** We closed it: the transport ends. */
  | 'destroyed'
  | 'headers-timeout'
  | 'body-timeout'
  /** The answer is not HTTP/1.1 as RFC 9112 writes it, or says two things. */
  | 'not-http'
  | 'head-too-large'
  | 'unasked-answer'
  /** Path or headers hold what would begin another line. */
  | 'unwritable-head'
  /** The body that was read while it was sent had another length than was said. */
  | 'wrong-length';

export class WireFailure extends Error {
  readonly code: WireFailureCode;

  constructor(code: WireFailureCode) {
    super(code);
    this.code = code;
  }
}
