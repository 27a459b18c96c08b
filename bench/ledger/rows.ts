import type { ReservationRow, UsageEvent } from '../../src/books/metering/ledger.ts';
import { crashedEvent } from '../../src/books/metering/settlement.ts';
import { reservationRow } from '../../test/stores/rows.ts';

export function reservation(): ReservationRow {
  return reservationRow({ bootId: 'bench' });
}

export function eventOf(row: ReservationRow): UsageEvent {
  return {
    ...crashedEvent(row),
    target: 'openai/gpt-x',
    status: 200,
    class: 'ok',
    usageSource: 'upstream',
    route: {
      alias: 'smart',
      verdicts: [
        { target: 'openai/gpt-x', verdict: 'picked' },
        { target: 'claude/claude-x', verdict: 'next' },
      ],
      attempts: [
        {
          target: 'openai/gpt-x',
          provider: 'openai',
          model: 'gpt-x',
          credential: 'openai#0',
          class: 'ok',
          status: 200,
          startMs: 0.4,
          ms: 3.2,
          firstTokenMs: 1.1,
          bytes: 2_048,
          usage: { inputTokens: 100, outputTokens: 50 },
          usageSource: 'upstream',
          costUsd: 0.001,
          message: null,
        },
      ],
      losses: [],
      passThrough: true,
    },
  };
}
