import assert from 'node:assert/strict';
import { setTimeout as after } from 'node:timers/promises';
import { adminKey, testKey } from '../start-gateway.ts';

/** One line of `GET /admin/v1/requests`, as far as tests look at it. */
export interface RequestSeen {
  id: string;
  class: string;
  status: number;
  units: number;
  usage: { source: string };
}

/** What a gateway says of an account: the books, and the windows over them. */
export interface Books {
  events: RequestSeen[];
  /** Sum of the events. */
  units: number;
  /** As in the roll-ups. */
  rolledUp: { requests: number; units: number };
  /** Usage of each window. */
  windows: Record<'5h' | 'week' | 'month', number>;
  /** Reservations that nobody has settled. */
  open: number;
}

const dev = { account: 'dev', key: testKey };

export async function booksOf(url: string, { account, key } = dev): Promise<Books> {
  const { windows } = await read(url, '/v1/usage', key);
  const { open_requests: open } = await read(url, `/admin/v1/accounts/${account}`);
  const { data } = await read(url, '/admin/v1/usage?group_by=account');
  const { requests, units } = data.find((row: { group: string }) => row.group === account) ?? { requests: 0, units: 0 };
  const events: RequestSeen[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await read(url, `/admin/v1/requests?account=${account}&limit=1000${cursor && `&cursor=${cursor}`}`);
    events.push(...page.data);
    cursor = page.next_cursor === null ? null : encodeURIComponent(page.next_cursor);
  }
  return {
    events,
    units: events.reduce((sum, event) => sum + event.units, 0),
    rolledUp: { requests, units },
    windows: { '5h': windows['5h'].used, week: windows.week.used, month: windows.month.used },
    open,
  };
}

/**
 * F52: at idle nothing is open, and windows, roll-ups and events say the same. Settlements on their way get `withinMs`, which a busy machine needs.
 * Up to `lostUnits` may be in the windows alone: leases of killed replicas count as used until a seed knows better.
 */
export async function balanced(url: string, withinMs = 60_000, lostUnits = 0, of = dev): Promise<Books> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const books = await booksOf(url, of);
    const { units, events } = books;
    const found = { open: books.open, windows: books.windows, rolledUp: books.rolledUp };
    const counted = Math.min(Math.max(units, books.windows['5h']), units + lostUnits);
    const wanted = {
      open: 0,
      windows: { '5h': counted, week: counted, month: counted },
      rolledUp: { requests: events.length, units },
    };
    if (JSON.stringify(found) === JSON.stringify(wanted)) {
      assert.equal(new Set(events.map(({ id }) => id)).size, events.length, 'no request stands there twice');
      return books;
    }
    if (performance.now() > endMs) assert.deepEqual(found, wanted, 'F52 the books balance');
    await after(25);
  }
}

/** A JSON answer of the gateway; fails unless it is 200. */
// biome-ignore lint/suspicious/noExplicitAny: what a test looks at in an answer is what it asserts.
async function read(url: string, path: string, key = adminKey): Promise<any> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  assert.equal(response.status, 200, `${path}: ${text}`);
  return JSON.parse(text);
}

/** Result of one chat; `status` 0 when the connection was cut before a whole answer. */
export interface Asked {
  status: number;
  /** Our id, once headers came. */
  id: string | null;
  /** Seconds of Retry-After; null: none was sent. */
  retryAfterS: number | null;
  ms: number;
  text: string;
}

export async function ask(
  url: string,
  body: Record<string, unknown> = {},
  key = testKey,
  headers: Record<string, string> = {},
): Promise<Asked> {
  const startedMs = performance.now();
  let id: string | null = null;
  let retryAfterS: number | null = null;
  let text = '';
  let status = 0;
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }], ...body }),
    });
    id = response.headers.get('x-culvert-request-id');
    const retryAfter = response.headers.get('retry-after');
    if (retryAfter !== null) retryAfterS = Number(retryAfter);
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk;
    status = response.status;
  } catch {
    // Cut: the part until then is kept.
  }
  return { status, id, retryAfterS, ms: performance.now() - startedMs, text };
}
