import { randomBase62 } from '../../../kernel/ids.ts';
import type { Principal } from '../../auth/principal.ts';
import type { Limit, LimitState } from '../counters.ts';
import { amountOf } from '../limits/quota-message.ts';
import { partKinds } from '../part-budgets.ts';
import type { Notice } from './notice-store.ts';

/** The caller whose request moved a limit. */
export type Mover = Pick<Principal, 'account' | 'keyName' | 'plan'>;

/** A message as the webhook of a plan gets it. */
export interface QuotaMessage {
  type: 'quota.threshold' | 'quota.soft_limit';
  timestamp: string;
  data: Readonly<Record<string, unknown>> & { account: string; key?: string; limit: string; share: number };
}

const softPrefix = 'soft:';

/** The amount of a limit that warns, as a limit for notices. */
export function softLimitOf(limit: Limit, soft: number): Limit {
  return { ...limit, id: `${softPrefix}${limit.id}`, allowed: soft };
}

function isSoft({ id }: Limit): boolean {
  return id.startsWith(softPrefix);
}

/** Message when a limit is above a share for the first time. */
export function thresholdNotice(
  mover: Mover,
  limit: Limit,
  share: number,
  { used, leavesAtMs }: LimitState,
  nowMs: number,
): Notice {
  const body: QuotaMessage = {
    type: isSoft(limit) ? 'quota.soft_limit' : 'quota.threshold',
    timestamp: new Date(nowMs).toISOString(),
    data: {
      account: mover.account,
      // Only when the limit belongs to one key: otherwise the key that happened to cross it says nothing.
      ...(limit.scope.startsWith('k:') ? { key: mover.keyName } : {}),
      plan: mover.plan,
      limit: isSoft(limit) ? limit.id.slice(softPrefix.length) : limit.id,
      ...(limit.part !== undefined && { [limit.part.kind]: limit.part.value }),
      window: limit.isForEver === true ? null : (limit.period?.id ?? limit.span),
      share,
      used: amountOf(limit.measure, used),
      allowed: amountOf(limit.measure, limit.allowed),
      resets_at: leavesAtMs === null ? null : new Date(leavesAtMs).toISOString(),
    },
  };
  return { id: `msg_${randomBase62(24)}`, plan: mover.plan, body: JSON.stringify(body), createdMs: nowMs, tries: 0 };
}

/** The message in one sentence. */
export function quotaSubject({ type, data }: QuotaMessage): string {
  const { account, key, limit, share } = data;
  const who = key === undefined ? `The account ${account}` : `The key ${key} of the account ${account}`;
  const part = partKinds.find((kind) => typeof data[kind] === 'string');
  const what = part === undefined ? limit : `${limit} of the ${part} '${String(data[part])}'`;
  if (type === 'quota.soft_limit') return `${who} passed the soft limit of ${what}.`;
  return `${who} used ${Math.round(share * 100)}% of ${what}.`;
}
