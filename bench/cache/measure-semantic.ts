import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CachedAnswer } from '../../src/inference/cache/packed-entry.ts';
import { packQuestions } from '../../src/inference/cache/semantic/known-questions.ts';
import { SemanticCache } from '../../src/inference/cache/semantic/semantic-cache.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { seededRandom } from '../../src/kernel/random.ts';
import { createSealer } from '../../src/kernel/seal.ts';
import { createSealedCache } from '../../src/stores/cache/sealed-cache.ts';
import { openSqliteCache } from '../../src/stores/cache/sqlite-cache.ts';
import { percentile } from '../percentile.ts';
import { judged, type Row } from '../rows.ts';

const questionCount = 100_000;
const lookCount = 5_000;
const askedCount = 2_000;
const size = 256;

/** Look-ups of questions among 100,000 known ones, in a file of SQLite. */
export async function measureSemantic(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-bench-cache-'));
  const bounds = { scopeBytes: 4e9, totalBytes: 4e9 };
  const driver = openSqliteCache({
    file: join(folder, 'cache.db'),
    bounds,
    clock: systemClock,
    onTrouble: console.error,
  });
  const sealer = createSealer(['a secret of the bench, 32 bytes long'], 'cache');
  const store = createSealedCache(driver, sealer, () => systemClock.wallMs());
  const random = seededRandom(1);
  const vector = Array.from({ length: size }, () => random.next());
  const cache = new SemanticCache({
    store,
    clock: systemClock,
    random,
    calls: { embed: async (_, texts) => texts.map(() => vector), judge: async () => null },
    onChecked() {},
  });
  const text = 'An answer.';
  const entry: CachedAnswer = {
    answer: [{ type: 'text-delta', choice: 0, text }, { type: 'end' }],
    ...{ provider: 'p', model: 'm', usd: null, losses: [], endpoint: 'chat' },
  };
  let answered = 0;
  const ask = (n: number) =>
    cache.ask({
      rule: { model: 'embed', errorMax: 0.01, sample: 0, deadlineMs: 200 },
      text: `Please tell me the price of part ${n}`,
      filter: { scope: 'key bench', digest: 'filter' },
      answerKey: { scope: 'key bench', digest: `answer ${n}` },
      row: { keyId: 'bench', model: 'chat', tag: null },
      async answerOf() {
        answered += 1;
        return { entry, atMs: systemClock.wallMs() };
      },
    });
  try {
    const atMs = systemClock.wallMs();
    const row = { atMs, expiresAtMs: atMs + 3_600_000, keyId: 'bench', model: 'chat', tag: null };
    const known = { id: 'q', vector: Float32Array.from(vector), template: '', answer: 'a', observed: {} };
    for (let n = 0; n < questionCount; n += 1_000) {
      const putting = Array.from({ length: 1_000 }, (_, at) => {
        const place = { scope: 'key bench', digest: `q.${n + at}` };
        return store.put(place.scope, place.digest, { ...row, body: packQuestions([known], place) });
      });
      await Promise.all(putting);
    }
    for (let n = 0; n < askedCount; n += 1) {
      const similar = await ask(n);
      if (similar !== null && 'learn' in similar) similar.learn(entry);
    }
    // Written after all those before it.
    await store.put('key bench', 'last', { ...row, body: Buffer.alloc(1) });
    const took: number[] = [];
    for (let n = 0; n < lookCount; n += 1) {
      const startMs = performance.now();
      await ask(Math.floor(random.next() * askedCount));
      took.push(performance.now() - startMs);
    }
    const entries = (await store.stats()).reduce((sum, row) => sum + row.entries, 0);
    if (entries < questionCount || answered > lookCount) throw new Error(`${entries} rows, ${answered} answers`);
    return [
      judged(
        'a semantic look-up among 100,000 questions, p99',
        [
          percentile(
            took.sort((one, other) => one - other),
            0.99,
          ),
        ],
        {
          atMost: 3,
          unit: ' ms',
          digits: 2,
        },
      ),
    ];
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
