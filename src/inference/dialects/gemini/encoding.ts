import { type Failure, invalid } from '../../../kernel/failure.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { ModelRules } from './model-rules.ts';

/** What one encoding run knows and gathers on its way; the first failure found is the one told. */
export interface Encoding {
  readonly rules: ModelRules;
  readonly losses: Loss[];
  /** What `losses` holds: a body may lose something in each of its many thousand parts. */
  readonly told: Set<string>;
  failure: Failure | null;
}

/** The same loss of the same field is told once. */
export function lose(encoding: Encoding, field: string, why: Loss['why']): void {
  const told = `${why} ${field}`;
  if (encoding.told.has(told)) return;
  encoding.told.add(told);
  encoding.losses.push({ field, why });
}

/** What would change the result if it were left out: another target may do it, else the caller is told the field. */
export function refuse(encoding: Encoding, field: string, message: string): void {
  encoding.failure ??= invalid(field, message);
}
