import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startProcess } from '../start-process.ts';
import { until } from '../until.ts';

const key = 'sk-cv-memory-at-rest-1';

/** Resident memory in MB. */
function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}

test('a gateway at rest gives the memory of its busy time back', { skip: process.platform !== 'linux' }, async (t) => {
  const { url, child } = await startProcess(t, { env: { CULVERT_API_KEY: key } });
  const body = JSON.stringify({ model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] });
  const callers = Array.from({ length: 64 }, async () => {
    for (let sent = 0; sent < 60; sent += 1) {
      const response = await fetch(`${url}/v1/chat/completions`, {
        ...{ method: 'POST', headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' }, body },
      });
      assert.equal(response.status, 200, await response.text());
    }
  });
  await Promise.all(callers);
  const busyMb = residentMb(child.pid!);
  // Five seconds at most until it looks, and eight until V8 begins.
  await until(`${Math.round(busyMb)} MB fall by a tenth`, () => residentMb(child.pid!) < 0.9 * busyMb);
});
