import { firstTokenBins, totalBins } from '../../books/ledger/minute-sums.ts';
import type { Ddl } from './ddl.ts';

/** Attempts by minute and hour (ledger/minute-sums.ts), for pages that draw who fails and who is slow. */
export const attemptSumTable: Ddl = `
  CREATE TABLE @attempt_sum (
    grain_ms WHOLE NOT NULL,
    bucket WHOLE NOT NULL,
    provider TEXT NOT NULL,
    target TEXT NOT NULL,
    credential TEXT NOT NULL,
    -- The model that callers asked for.
    alias TEXT NOT NULL,
    class TEXT NOT NULL,
    attempts WHOLE NOT NULL,
    retried WHOLE NOT NULL,
    hedges WHOLE NOT NULL,
    output_tokens WHOLE NOT NULL,
    output_ms WHOLE NOT NULL,
    -- Counts of durations.
    ${[...firstTokenBins, ...totalBins].map((bin) => `${bin} INTEGER NOT NULL`).join(', ')},
    PRIMARY KEY (grain_ms, bucket, provider, target, credential, alias, class)
  ) KEYED;`;
