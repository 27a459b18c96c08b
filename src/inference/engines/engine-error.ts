import { type Fault, fault } from '../neutral/outcome.ts';

/** Why an engine of this machine did not do what it was asked; its fault is the attempt's. */
export class EngineError extends Error {
  readonly fault: Fault;
  constructor(reason: Fault) {
    super(reason.message);
    this.name = 'EngineError';
    this.fault = reason;
  }
}

/** It may do it another time: it crashed, hung, or has too much to do. `retryAfterMs` where it is known. */
export function engineFailed(message: string, retryAfterMs: number | null = null): EngineError {
  return new EngineError({ ...fault('transient', message, 503), retryAfterMs });
}

/** It is not there (yet). */
export function engineMissing(message: string, retryAfterMs: number | null = null): EngineError {
  return new EngineError({ ...fault('model_unavailable', message, 503), retryAfterMs });
}

/** The fault in whatever an engine threw; what it did not foresee is transient. */
export function faultOfEngine(error: unknown): Fault {
  if (error instanceof EngineError) return error.fault;
  return fault('transient', error instanceof Error ? error.message : 'failed');
}
