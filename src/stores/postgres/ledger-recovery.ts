import type { Clock } from '../../kernel/clock.ts';
import type { BucketsOf } from '../../ledger/batch-sums.ts';
import { readReservation } from '../../ledger/columns.ts';
import type { ReservationRow, UsageEvent } from '../../metering/ledger.ts';
import type { RecordOrder } from '../../metering/record-store.ts';
import { type Boots, bootIsOver, bootSaidGoodbye, forgetOldBoots } from './boots.ts';
import type { Connections, Statement } from './database.ts';
import { writeEvents } from './ledger-writer.ts';

const batchRows = 200;

/**
 * Charges every reservation of a boot that is over once; resolves to how many. On all replicas at once: whoever gets
 * the row out of the table writes its event, in the same commit.
 */
export async function recoverReservations(
  connections: Connections,
  boots: Boots,
  bootId: string,
  rules: {
    chargeCrashed: (reservation: ReservationRow) => UsageEvent;
    bucketsOf: BucketsOf;
    order?: RecordOrder;
    clock: Pick<Clock, 'wallMs'>;
  },
  onWritten: (events: readonly UsageEvent[]) => void,
): Promise<number> {
  let recovered = 0;
  for (;;) {
    const take = boots.mayJudgeSilence() ? takeSilent : takeEnded;
    const charged = await connections.transaction('write', async (run) => {
      const { rows } = await run(take, [bootId, batchRows]);
      const events = rows.map((row) => rules.chargeCrashed(readReservation(row)));
      await writeEvents(run, events, { ...rules, nowMs: rules.clock.wallMs() });
      if (rows.length < batchRows) await forgetOldBoots(run);
      return events;
    });
    onWritten(charged);
    recovered += charged.length;
    if (charged.length < batchRows) return recovered;
  }
}

function takeWhere(name: string, isOver: string): Statement {
  return {
    name,
    text: `
      DELETE FROM culvert.reservation WHERE request_id IN (
        SELECT request_id FROM culvert.reservation AS held WHERE held.boot_id <> $1 AND ${isOver}
        ORDER BY request_id LIMIT $2 FOR UPDATE SKIP LOCKED
      ) RETURNING *`,
  };
}

const takeSilent = takeWhere('recover-silent', bootIsOver('held.boot_id'));
const takeEnded = takeWhere('recover-ended', bootSaidGoodbye('held.boot_id'));
