import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../../test/fake-clock.ts';
import { allCharsMax, createItemMemory, itemCharsMax, itemRetentionMs, tenantCharsMax } from './item-memory.ts';

function setUp() {
  const clock = fakeClock();
  const items = createItemMemory({ clock });
  const message = (id: string, chars = 10) => ({ id, type: 'message', content: 'x'.repeat(chars) });
  const has = (tenant: string, id: string) =>
    Object.hasOwn(items.find(tenant, [{ id, field: 'input[0]', use: 'needed' }]), id);
  return { clock, message, has, keep: (tenant: string, ...kept: object[]) => items.keep(tenant, kept as never), items };
}

test('S25 an item serves the tenant that was given it, for an hour', () => {
  const { clock, message, has, keep } = setUp();
  keep('a', message('msg_1'));
  assert.deepEqual(
    [has('a', 'msg_1'), has('b', 'msg_1'), has('a', 'msg_2'), has('a', '__proto__')],
    [true, false, false, false],
  );
  clock.advance(itemRetentionMs - 1);
  assert.equal(has('a', 'msg_1'), true);
  clock.advance(1);
  assert.equal(has('a', 'msg_1'), false);
});

test('what is found is a copy, and the last of one id is what is kept', () => {
  const { items, keep } = setUp();
  keep('a', { id: 'msg_1', content: 'old' }, { id: 'msg_1', content: 'new' }, { content: 'without an id' });
  const reference = { id: 'msg_1', field: 'input[0]', use: 'needed' } as const;
  const [one, other] = [items.find('a', [reference]), items.find('a', [reference])];
  assert.equal(one.msg_1!.content, 'new');
  assert.notEqual(one.msg_1, other.msg_1);
});

test('a tenant has room for so much, of which its oldest goes; what is too large is not kept', () => {
  const { message, has, keep } = setUp();
  keep('b', message('msg_b'));
  const count = Math.ceil(tenantCharsMax / (itemCharsMax / 2)) + 1;
  for (let i = 0; i < count; i += 1) keep('a', message(`msg_${i}`, itemCharsMax / 2));
  assert.deepEqual([has('a', 'msg_0'), has('a', `msg_${count - 1}`), has('b', 'msg_b')], [false, true, true]);
  keep('a', message('msg_large', itemCharsMax));
  assert.equal(has('a', 'msg_large'), false);
});

test('all tenants together have room for so much: those who have most lose their oldest first', () => {
  const { message, has, keep } = setUp();
  keep('small', message('msg_small'));
  const tenants = allCharsMax / tenantCharsMax + 2;
  for (let tenant = 0; tenant < tenants; tenant += 1)
    for (let i = 0; i < 33; i += 1) keep(`t${tenant}`, message(`msg_${i}`, itemCharsMax / 2 - 400));
  assert.equal(has('small', 'msg_small'), true);
  const kept = Array.from(
    { length: tenants },
    (_, tenant) => Array.from({ length: 33 }, (_, i) => has(`t${tenant}`, `msg_${i}`)).filter(Boolean).length,
  );
  const most = Math.max(...kept);
  assert.ok(most <= 32 && kept.every((count) => count >= most - 8), `${kept}`);
  assert.ok(kept.reduce((sum, count) => sum + count, 0) * (itemCharsMax / 2) <= allCharsMax * 1.01, `${kept}`);
});

test('what has expired gives its room back to others', () => {
  const { clock, message, has, keep } = setUp();
  for (let i = 0; i < 31; i += 1) keep('idle', message(`msg_${i}`, itemCharsMax / 2));
  clock.advance(itemRetentionMs);
  keep('busy', message('msg_1'));
  assert.equal(has('busy', 'msg_1'), true);
  clock.advance(-itemRetentionMs);
  assert.equal(has('idle', 'msg_30'), false, 'it is gone, not only old');
});
