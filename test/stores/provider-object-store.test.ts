import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GivenObject } from '../../src/books/auth/provider-object-store.ts';
import { drivers } from './drivers.ts';

const nowMs = Date.now();

function given(over: Partial<GivenObject> = {}): GivenObject {
  return {
    idHash: 'AAAAAAAAAAAAAAAAAAAAAA',
    tenant: 'dev/laptop',
    target: 'openai/gpt-5',
    credential: 'openai#0',
    expiresMs: nowMs + 1_000,
    ...over,
  };
}

for (const driver of drivers) {
  const { skip } = driver;

  test(`${driver.name}: an id is found for everybody who was given it, until it expires, by every process`, {
    skip,
  }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const objects = await store.providerObjects();
    await objects.give([
      given(),
      given({ tenant: 'other/x', credential: 'openai#1' }),
      given({ idHash: 'B'.repeat(22) }),
    ]);
    const other = await store.providerObjects();
    const found = await other.find([given().idHash, 'C'.repeat(22)], nowMs);
    assert.deepEqual(
      found.toSorted((a, b) => a.tenant.localeCompare(b.tenant)),
      [given(), given({ tenant: 'other/x', credential: 'openai#1' })],
    );
    assert.deepEqual(await other.find([given().idHash], nowMs + 1_000), []);
    await objects.close();
    await other.close();
  });

  test(`${driver.name}: what is given again is renewed, and lives where it was given last`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const objects = await store.providerObjects();
    await objects.give([given()]);
    await objects.give([given({ credential: 'openai#1', expiresMs: nowMs + 9_000 })]);
    const again = given({ credential: 'openai#1', expiresMs: nowMs + 9_000 });
    assert.deepEqual(await objects.find([given().idHash], nowMs), [again]);
    await objects.close();
  });

  test(`${driver.name}: a tenant keeps its newest, and what expired is forgotten`, { skip }, async (t) => {
    const store = await driver.create();
    t.after(() => store.remove());
    const objects = await store.providerObjects();
    const hash = (i: number) => String(i).padStart(22, '0');
    const rows = Array.from({ length: 1_210 }, (_, i) => given({ idHash: hash(i), expiresMs: nowMs + i }));
    await objects.give([...rows, given({ tenant: 'other/x', idHash: hash(0), expiresMs: nowMs })]);
    assert.equal(await objects.trim('dev/laptop', 1_000), 210);
    const left = await objects.find(
      rows.map(({ idHash }) => idHash),
      nowMs - 1,
    );
    assert.equal(left.filter(({ tenant }) => tenant === 'dev/laptop').length, 1_000);
    assert.equal(left.filter(({ tenant }) => tenant === 'other/x').length, 1);
    assert.equal(await objects.sweep(nowMs + 709), 501);
    assert.equal(
      (
        await objects.find(
          rows.map(({ idHash }) => idHash),
          0,
        )
      ).length,
      500,
    );
    await objects.close();
  });
}
