import type { Loss } from '../neutral/loss.ts';
import type { NeutralRequest } from '../neutral/request.ts';

/** Tells what a format has no place for at all: biases of tokens, hints, and the own fields of every other `vendor`. */
export function loseUnspoken(
  { logitBias, hints, extensions }: Pick<NeutralRequest, 'logitBias' | 'hints' | 'extensions'>,
  vendor: string,
  lose: (field: string, why: Loss['why']) => void,
): void {
  if (logitBias !== undefined) lose('logit_bias', 'unsupported');
  for (const name in hints) lose(name, 'unsupported');
  for (const dialect in extensions) {
    if (dialect === vendor) continue;
    for (const name in extensions[dialect]) lose(name, 'unknown');
  }
}
