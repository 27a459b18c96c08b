import { type Fault, fault } from '../formats/neutral/outcome.ts';

/** Why an engine of this machine failed; its fault is the attempt's. */
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

/** Too many orders wait, of this tenant or of all. The engine is not to blame: another tenant's order may find room. */
export function engineCrowded(message: string): EngineError {
  return new EngineError({ ...fault('gateway_fault', message, 503), retryAfterMs: 1_000 });
}

/** It is being downloaded, so nobody can use it before a later time. */
export function engineBusy(message: string, retryAfterMs: number): EngineError {
  return new EngineError({ ...fault('rate_limited', message, 503), retryAfterMs });
}

/** It is not there; the message says how to get it. */
export function engineMissing(message: string): EngineError {
  return new EngineError(fault('model_unavailable', message, 503));
}

/** The fault of an engine's error; an unforeseen one is transient. */
export function faultOfEngine(error: unknown): Fault {
  if (error instanceof EngineError) return error.fault;
  return fault('transient', error instanceof Error ? error.message : 'failed');
}
