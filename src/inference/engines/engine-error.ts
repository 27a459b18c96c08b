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

/** It crashed, hung or could not do this; `retryAfterMs` where it is known when another try makes sense. */
export function engineFailed(message: string, retryAfterMs: number | null = null): EngineError {
  return new EngineError({ ...fault('transient', message, 503), retryAfterMs });
}

/**
 * Too many orders wait, of this tenant or of all. Nothing is said against the engine: another tenant's order may find
 * room.
 */
export function engineCrowded(message: string): EngineError {
  return new EngineError({ ...fault('gateway_fault', message, 503), retryAfterMs: 1_000 });
}

/** It will do it later, for nobody before: it is being downloaded. */
export function engineBusy(message: string, retryAfterMs: number): EngineError {
  return new EngineError({ ...fault('rate_limited', message, 503), retryAfterMs });
}

/** It is not there; the message says how to get it. */
export function engineMissing(message: string): EngineError {
  return new EngineError(fault('model_unavailable', message, 503));
}

/** The fault in whatever an engine threw; what it did not foresee is transient. */
export function faultOfEngine(error: unknown): Fault {
  if (error instanceof EngineError) return error.fault;
  return fault('transient', error instanceof Error ? error.message : 'failed');
}
