/**
 * `blocked`: the guard refused its address. `unauthorized`: it wants other credentials. `needs-login`: it wants tokens
 * that an operator gets by a login. `session-lost`: it forgot the session, and a new one may do. `bad-request`: HTTP 400, which may mean that, too. `refused`: it answered with an error of the protocol or of HTTP. `broken`: what came is
 * no answer. `aborted`: nobody waits any more. `resting`: it is down, and was not asked. `busy`: all its sessions are at
 * work.
 */
export type McpFaultReason =
  | 'blocked'
  | 'unreachable'
  | 'unauthorized'
  | 'needs-login'
  | 'session-lost'
  | 'bad-request'
  | 'refused'
  | 'timeout'
  | 'too-large'
  | 'broken'
  | 'aborted'
  | 'resting'
  | 'busy';

/** Why an MCP server elsewhere gave nothing. It is a class, because an object of any shape may come from a server. */
export class McpFault {
  readonly reason: McpFaultReason;
  /** Says what the server did, such as `took longer than 30 s`. It names no address and no credential. */
  readonly message: string;
  /** When it makes sense to ask again; null: nobody knows. */
  readonly retryAfterMs: number | null;

  constructor(reason: McpFaultReason, message: string, retryAfterMs: number | null = null) {
    this.reason = reason;
    this.message = message;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A fault that has to pass through the SDK. */
export class McpFaultError extends Error {
  readonly fault: McpFault;

  constructor(fault: McpFault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** The fault of a call that had so many ms left, rounded up to tenths of a second: looking for a session takes a part. */
export function tookLongerThan(timeoutMs: number): McpFault {
  return new McpFault('timeout', `took longer than ${Math.ceil(timeoutMs / 100) / 10} s`);
}
