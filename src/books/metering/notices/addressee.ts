import type { Notice } from './notice-store.ts';

/** Whom a notice is for: the webhook of a plan, or a receiver of alerts or statements by its name. */
export type Addressee = { kind: 'quota'; plan: string } | { kind: ReceiverKind; receiver: string };
export type ReceiverKind = 'alerts' | 'statement';

/** Begins the `plan` of a notice for a receiver: no plan has a name with a space. */
const prefixes: Readonly<Record<ReceiverKind, string>> = { alerts: 'alert ', statement: 'statement ' };

/** The `plan` of a notice for a receiver. */
export function planFor(kind: ReceiverKind, receiver: string): string {
  return prefixes[kind] + receiver;
}

export function addresseeOf({ plan }: Pick<Notice, 'plan'>): Addressee {
  for (const kind of ['alerts', 'statement'] as const) {
    if (plan.startsWith(prefixes[kind])) return { kind, receiver: plan.slice(prefixes[kind].length) };
  }
  return { kind: 'quota', plan };
}
