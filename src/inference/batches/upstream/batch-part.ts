import type { ExpectedUse } from '../../../books/metering/batch-store.ts';
import type { PreparedLine } from './prepare-line.ts';

/** Lines of a batch that are one batch at a provider. Kept in the facts of the batch. */
export interface BatchPart {
  id: number;
  /**
   * `noting`: its lines are being noted. `ready`: it is sent, unless it was. `sent`: the provider has it. `returned`: its
   * answers are kept here, and what its lines cost is held until each of them is charged. `ended`: nothing is left of it.
   */
  at: 'noting' | 'ready' | 'sent' | 'returned' | 'ended';
  place: PreparedLine['place'];
  lines: number;
  costMilli: number;
  expected: ExpectedUse;
  /** Budgets of end users or tags count some of its lines. */
  hasBudgets?: boolean;
  /** Its content is the first `bytes` of a file of ours, which nobody else sees. */
  content: { id: string; bytes: number; fileBytes: number };
  /** Wall-clock ms; it was not sent before. */
  sinceMs: number;
  /** Its id there; null: not sent. */
  upstream: string | null;
  /** It may be the batch of another caller. */
  isGuess?: boolean;
  /** Lines that were answered there. */
  succeeded: number;
}

const customIdPattern = /^(req_[0-9a-f-]{36})-(\d{1,6})$/;

/** The name of a line at a provider. */
export function customIdOf(requestId: string, seq: number): string {
  return `${requestId}-${seq}`;
}

/** Null: it is none of ours. */
export function lineNamed(customId: string): { requestId: string; seq: number } | null {
  const [, requestId, seq] = customIdPattern.exec(customId) ?? [];
  return requestId === undefined ? null : { requestId, seq: Number(seq) };
}
