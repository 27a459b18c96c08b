import { globSync, statSync } from 'node:fs';
import { gate } from '../gates/ratchet.ts';

const step = 50_000;

gate(
  'bundle',
  async () => {
    const { ensureBundle } = (await import(String(new URL('../../scripts/build.mjs', import.meta.url)))) as {
      ensureBundle(): Promise<void>;
    };
    await ensureBundle();
    return globSync('dist/*.js').reduce((bytes, file) => bytes + statSync(file).size, 0);
  },
  { 'bytes, up to the next 50 kB': (bytes) => Math.ceil(bytes / step) * step },
);
