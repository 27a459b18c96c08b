import type { UpstreamHeaders, UpstreamUpload } from './upstream-call.ts';

/** What goes over a connection. */
export interface WireRequest {
  head: string;
  body: Buffer | string | UpstreamUpload | null;
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
}

/** Told of one exchange. After `over` or `broken` nothing more is called, and after `destroy` by the observer nothing. */
export interface WireObserver {
  /** The request has been handed to the socket; until then nothing of it has. */
  written(): void;
  head(status: number, headers: UpstreamHeaders): void;
  bytes(piece: Buffer): void;
  over(): void;
  broken(error: Error, answer: 'begun' | 'not begun'): void;
}
