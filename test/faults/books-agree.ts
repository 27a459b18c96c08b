import { setTimeout as pause } from 'node:timers/promises';
import type { CallSeen } from './many-calls.ts';

/** The compared books: callers, ledger, request records, and the upstreams' own counts. */
export interface Sides {
  /** Of the gateway. */
  url: string;
  adminKey: string;
  /** Owner of the calls: this account has no others. */
  account: string;
  seen: readonly CallSeen[];
  /** Calls that came in until now, by provider; those that count nothing, such as a closed port, are left out. */
  upstreamCalls(): Promise<Readonly<Record<string, number>>>;
}

/** One line of `GET /admin/v1/requests.jsonl`, as far as it is read. */
export interface RecordSeen {
  id: string;
  created_at: string;
  status: number;
  units: number;
  route: { attempts: { provider: string; class: string; ms: number }[] };
}

/** Each disagreement as a sentence; none = the books are right. Settlements on their way get `withinMs`. */
export async function disagreements(sides: Sides, withinMs = 5_000): Promise<string[]> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const found = await disagreementsNow(sides);
    if (found.length === 0 || performance.now() > endMs) return found;
    await pause(250);
  }
}

export async function recordsOf({ url, adminKey, account }: Pick<Sides, 'url' | 'adminKey' | 'account'>) {
  const lines = await read(`${url}/admin/v1/requests.jsonl?account=${account}`, adminKey);
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RecordSeen);
}

async function disagreementsNow(sides: Sides): Promise<string[]> {
  const { url, adminKey, account, upstreamCalls } = sides;
  // A request that a limit refuses was never dispatched, and need not be in the ledger.
  const admitted = ({ status }: { status: number }) => status !== 429;
  const seen = sides.seen.filter(admitted);
  const records = (await recordsOf(sides)).filter(admitted);
  const byId = new Map(records.map((record) => [record.id, record]));
  const found: string[] = [];
  const differ = (what: string, one: number, other: number) => {
    if (one !== other) found.push(`${what}: ${one} and ${other}`);
  };

  differ('records and their ids', records.length, byId.size);
  differ('calls and records', seen.length, records.length);
  for (const { requestId, status, outcome } of seen) {
    const record = requestId === null ? undefined : byId.get(requestId);
    // A caller that hung up before the first byte has no id to ask for.
    if (record === undefined) {
      if (status !== 0) found.push(`${requestId}: answered ${status}, and no record`);
    } else if (outcome === 'answered' && record.status !== 200) {
      found.push(`${requestId}: answered, and its record says ${record.status}`);
    }
  }

  const attempts = records.flatMap(({ route }) => route.attempts);
  for (const [provider, calls] of Object.entries(await upstreamCalls())) {
    const made = attempts.filter((one) => one.provider === provider);
    // One that was stopped before it was sent is an attempt, and no call.
    const stopped = made.filter((one) => one.class === 'cancelled').length;
    const sent = Math.min(made.length, Math.max(made.length - stopped, calls));
    differ(`attempts on ${provider}, and its own count`, sent, calls);
  }

  const units = records.reduce((sum, record) => sum + record.units, 0);
  const served = records.filter(({ status }) => status === 200);
  // However often a request was tried and asked, an answer is charged once.
  for (const { id, units: own } of served) if (own !== 1) found.push(`${id}: charged ${own} times`);
  const { data } = JSON.parse(await read(`${url}/admin/v1/usage?group_by=account`, adminKey)) as {
    data: { group: string; requests: number; units: number }[];
  };
  const ledger = data.find(({ group }) => group === account) ?? { requests: 0, units: 0 };
  differ('requests of the ledger and records', ledger.requests, records.length);
  differ('units of the ledger and records', ledger.units, units);
  const { open_requests: open } = JSON.parse(await read(`${url}/admin/v1/accounts/${account}`, adminKey)) as {
    open_requests: number;
  };
  differ('open reservations at idle, and none', open, 0);
  return found;
}

async function read(address: string, adminKey: string): Promise<string> {
  const response = await fetch(address, { headers: { authorization: `Bearer ${adminKey}` } });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`GET ${address}: ${response.status} ${body}`);
  return body;
}
