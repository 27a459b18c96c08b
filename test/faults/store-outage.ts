import { setTimeout as pause } from 'node:timers/promises';
import { type Asked, ask } from './books-balance.ts';

export interface StoreOutage {
  /** Answers while the store was gone. */
  refused: Asked[];
  /** Answers after it was back, up to the first 200. */
  late: Asked[];
  /** From its return to that answer. */
  backMs: number;
}

/** A store is gone for so long while a caller asks and asks, and comes back. */
export async function storeOutage(
  url: string,
  store: { stop(): Promise<void>; restart(): Promise<void> },
  outageMs: number,
): Promise<StoreOutage> {
  const refused: Asked[] = [];
  const late: Asked[] = [];
  await store.stop();
  const untilMs = performance.now() + outageMs;
  do {
    refused.push(await ask(url));
    await pause(50);
  } while (performance.now() < untilMs);
  await store.restart();
  const backSinceMs = performance.now();
  for (;;) {
    const asked = await ask(url);
    const backMs = performance.now() - backSinceMs;
    if (asked.status === 200 || backMs > 60_000) return { refused, late, backMs };
    late.push(asked);
    await pause(20);
  }
}
