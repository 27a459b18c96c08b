import type { Work } from './count-work.ts';
import { countedBy } from './counted-by.ts';
import { gate } from './ratchet.ts';

/* Costs of a request, counted in the gateway's own thread: unlike time, the same on every machine. */

type Counted = [work: Record<string, Work>, promotedBytes: Record<string, number>];
let counted: Promise<Counted> | null = null;

/** Once for all gates of this file. */
function count(): Promise<Counted> {
  counted ??= countedBy('./count-work.ts');
  return counted;
}

const kinds = {
  parses: (work: Work) => work.parses,
  stringifies: (work: Work) => work.stringifies,
  writes: (work: Work) => work.writes,
  copies: (work: Work) => work.copies,
  timers: (work: Work) => work.timers,
};

// The upstream of a converted chat gets a request for a stream of some ten events, which is put together here.
for (const chat of ['whole, passed through', 'whole, converted'])
  gate(`work of a chat: ${chat}`, async () => (await count())[0][chat]!, kinds);

for (const how of ['passed through', 'converted']) {
  gate(
    `work of an event of a stream: ${how}`,
    async () => {
      const [work] = await count();
      const [some, many] = [40, 120].map((events) => work[`${events} events, ${how}`]!);
      // Periodic work, not caused by the event, is less than half of one.
      return Object.fromEntries(
        Object.keys(kinds).map((key) => [key, Math.round((many![key as keyof Work] - some![key as keyof Work]) / 80)]),
      ) as unknown as Work;
    },
    kinds,
  );
}

/**
 * Bytes of its row in the books, and of little else. A request that is old as a whole leaves 12 kB, and costs half as much
 * CPU again. In steps of 4 kB: what falls into a full collection varies.
 */
const promotedStep = 4_096;
for (const chat of ['whole, passed through', 'whole, converted']) {
  gate(`what a chat leaves to full collections: ${chat}`, async () => (await count())[1][chat]!, {
    bytes: (bytes) => Math.ceil(bytes / promotedStep) * promotedStep,
  });
}
