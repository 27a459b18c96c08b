import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailureError } from '../kernel/failure.ts';
import type { VectorRegistry } from './registry.ts';
import { linkRegistry, registryPort } from './registry-link.ts';

const nobody = {} as VectorRegistry;

test('a thread asks the registry over its port, several questions at once', async (t) => {
  const requests: unknown[][] = [];
  const port = registryPort({
    ...nobody,
    async find(tenant, collection) {
      requests.push([tenant, collection]);
      return null;
    },
    list: async (tenant) => [
      { tenant, account: 'a', generation: 'g', name: 'n', size: 1, distance: 'Dot', embeddingModel: null },
    ],
  });
  t.after(() => port.close());
  const registry = linkRegistry(port);
  const [list, none] = await Promise.all([registry.list('b'), registry.find('a', 'docs')]);
  assert.equal(list[0]?.tenant, 'b');
  assert.equal(none, null);
  assert.deepEqual(requests, [['a', 'docs']]);
});

test('what the registry refuses is refused in the thread with the same failure; a defect says where it was', async (t) => {
  const port = registryPort({
    ...nobody,
    find: () => Promise.reject(new FailureError({ kind: 'quota-unavailable', message: 'away' })),
    list: () => Promise.reject(new TypeError('a slip')),
  });
  t.after(() => port.close());
  const registry = linkRegistry(port);
  await assert.rejects(registry.find('a', 'docs'), (error) => {
    assert.ok(error instanceof FailureError);
    assert.deepEqual(error.failure, { kind: 'quota-unavailable', message: 'away' });
    return true;
  });
  await assert.rejects(registry.list('a'), /a slip/);
});

test('a port that closes fails what waits for it, and whatever is asked later', async () => {
  const port = registryPort({ ...nobody, find: () => new Promise(() => {}) });
  const registry = linkRegistry(port);
  const waiting = registry.find('a', 'docs');
  port.close();
  await assert.rejects(waiting, FailureError);
  await assert.rejects(registry.find('a', 'docs'), FailureError);
});
