import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BatchStore, EndedLine, NewBatch } from '../../src/books/metering/batch-store.ts';
import { drivers } from './drivers.ts';

const bytes = (text: string) => Buffer.from(text);
const list = { tenant: 'dev/test', order: 'desc', after: null, limit: 10, nowMs: 100 } as const;

function batch(id: string, tenant = 'dev/test'): NewBatch {
  return {
    id,
    tenant,
    account: 'dev',
    keyId: 'key',
    format: 'openai',
    endpoint: '/v1/chat/completions',
    inputFile: `file-of-${id}`,
    createdMs: 10,
    deadlineMs: 1_000,
    facts: bytes('facts'),
  };
}

function ended(seq: number, state: EndedLine['state'] = 'succeeded'): EndedLine {
  return { seq, requestId: `req_${seq}`, state, result: bytes(`result ${seq}`), bytes: 8 };
}

const begun = (seq: number, key: string | null = `key ${seq}`, part: number | null = null) => {
  return { seq, requestId: `req_${seq}`, key, part };
};

for (const driver of drivers) {
  const told = (name: string, run: (store: BatchStore, other: BatchStore) => Promise<void>) =>
    test(`${driver.name}: ${name}`, { skip: driver.skip }, async () => {
      const under = await driver.create();
      try {
        await run(await under.batches(), await under.batches());
      } finally {
        await under.remove();
      }
    });

  told('a file is found by its tenant once it is complete, until it expires', async (store) => {
    const row = { id: 'file-1', tenant: 'dev/test', purpose: 'batch', bytes: 0, createdMs: 10, expiresMs: 500 };
    await store.putFile({ ...row, facts: bytes('name') });
    assert.equal(await store.growFile('file-1', 7, 1), false);
    assert.equal(await store.growFile('file-1', 7, 0), true);
    await store.putChunk('file-1', 0, bytes('content'));
    assert.equal(await store.findFile('dev/test', 'file-1', 100), null);
    assert.equal((await store.findUnfinished('dev/test', 'file-1'))!.bytes, 7);
    assert.equal(await store.findUnfinished('dev/other', 'file-1'), null);
    await store.putChunk('file-1', 0, bytes('content'));
    await store.completeFile('file-1');
    assert.equal(await store.growFile('file-1', 8, 7), false);
    assert.equal(await store.findUnfinished('dev/test', 'file-1'), null);
    const found = await store.findFile('dev/test', 'file-1', 100);
    assert.deepEqual([found!.bytes, Buffer.from(found!.facts).toString()], [7, 'name']);
    assert.equal(await store.findFile('dev/other', 'file-1', 100), null);
    assert.equal(await store.findFile('dev/test', 'file-1', 500), null);
    assert.equal(Buffer.from((await store.chunk('file-1', 0))!).toString(), 'content');
    assert.equal(await store.chunk('file-1', 1), null);
    assert.equal((await store.listFiles({ ...list, purposes: ['batch', 'vision'] })).length, 1);
    assert.equal((await store.listFiles({ ...list, purposes: ['vision'] })).length, 0);
    await store.renewFile('file-1', 600, bytes('other name'));
    const renewed = await store.findFile('dev/test', 'file-1', 550);
    assert.deepEqual([renewed!.expiresMs, Buffer.from(renewed!.facts).toString()], [600, 'other name']);
    assert.equal(await store.replaceFacts('file-1', bytes('name'), bytes('late name')), false);
    assert.equal(await store.replaceFacts('file-1', bytes('other name'), bytes('next name')), true);
    assert.equal(Buffer.from((await store.findFile('dev/test', 'file-1', 550))!.facts).toString(), 'next name');
    await store.renewFile('file-1', 500, bytes('name'));
    assert.equal((await store.expiredFiles(499, 0, 10)).length, 0);
    assert.equal((await store.expiredFiles(500, 0, 10)).length, 1);
    await store.removeChunks('file-1');
    await store.removeFile('file-1');
    assert.equal(await store.chunk('file-1', 0), null);
    assert.equal(await store.findFile('dev/test', 'file-1', 100), null);
  });

  told('a file that was never finished goes after a while', async (store) => {
    const row = { id: 'file-1', tenant: 'dev/test', purpose: 'batch', bytes: 0, createdMs: 10, expiresMs: 500 };
    await store.putFile({ ...row, facts: bytes('name') });
    assert.equal((await store.expiredFiles(100, 10, 10)).length, 0);
    assert.equal((await store.expiredFiles(100, 11, 10)).length, 1);
  });

  told('a tenant has no more open batches than it may', async (store) => {
    assert.equal(await store.createBatch(batch('batch_1'), 2), 'created');
    assert.equal(await store.createBatch(batch('batch_2'), 2), 'created');
    assert.equal(await store.createBatch(batch('batch_3'), 2), 'full');
    for (const tenant of ['dev/a', 'dev/b', 'dev/c', 'dev/d', 'dev/e']) {
      const ids = ['4', '5', '6', '7'].map((id) => `batch_${id}${tenant}`);
      const made = await Promise.all(ids.map((id) => store.createBatch(batch(id, tenant), 2)));
      assert.deepEqual(made.toSorted(), ['created', 'created', 'full', 'full']);
    }
    const page = await store.listBatches({ ...list, limit: 1, format: 'openai' });
    assert.deepEqual(
      page.map(({ id }) => id),
      ['batch_2'],
    );
    const next = await store.listBatches({ ...list, after: 'batch_2', format: 'openai' });
    assert.deepEqual(
      next.map(({ id }) => id),
      ['batch_1'],
    );
    assert.deepEqual(await store.listBatches({ ...list, format: 'anthropic' }), []);
    assert.equal(await store.isRead('file-of-batch_1'), true);
    assert.equal(await store.isRead('file-of-nothing'), false);
  });

  told('of two processes only one gets a batch, and who lost it writes nothing any more', async (store, other) => {
    await store.createBatch(batch('batch_1'), 10);
    const [one, two] = await Promise.all([store.lease('a', 100, 200, 5), other.lease('b', 100, 200, 5)]);
    assert.equal(one.length + two.length, 1);
    const [winner, loser] = one.length === 1 ? ['a', 'b'] : ['b', 'a'];
    const lease = { id: 'batch_1', worker: winner };
    assert.equal(await store.renew(lease, 300), true);
    assert.equal(await store.renew({ ...lease, worker: loser }, 300), false);
    assert.deepEqual(await other.lease(loser, 299, 400, 5), []);
    assert.equal((await other.lease(loser, 300, 400, 5)).length, 1);
    assert.equal(await store.note(lease, [begun(1)], [ended(2)]), null);
    assert.equal(await store.counted(lease, 5, 100), false);
    assert.equal(await store.finalizing(lease, 100), false);
    const end = {
      ending: 'completed',
      atMs: 400,
      expiresMs: 500,
      outputFile: null,
      errorFile: null,
      facts: null,
    } as const;
    assert.equal(await store.end(lease, end), false);
    assert.deepEqual(await store.lines('batch_1', 0, 10), []);
    assert.equal((await store.findBatch('dev/test', 'batch_1', 100))!.succeeded, 0);
    await store.release({ worker: loser });
    assert.equal((await store.lease('c', 301, 400, 5)).length, 1);
  });

  told('lines are noted once each, by their order and their key', async (store) => {
    await store.createBatch(batch('batch_1'), 10);
    await store.lease('a', 100, 200, 5);
    const lease = { id: 'batch_1', worker: 'a' };
    assert.equal(await store.counted(lease, 5, 110), true);
    assert.deepEqual(await store.note(lease, [begun(1), begun(2), begun(3, 'key 1')], []), new Set([3]));
    assert.deepEqual(
      await store.note(lease, [{ seq: 2, requestId: 'req_again', key: null, part: null }], []),
      new Set(),
    );
    assert.deepEqual(await store.note(lease, [], [ended(1), ended(3, 'errored')]), new Set());
    assert.deepEqual(await store.lines('batch_1', 0, 10), [
      { seq: 1, requestId: 'req_1', ended: true, part: null, returned: false },
      { seq: 2, requestId: 'req_again', ended: false, part: null, returned: false },
      { seq: 3, requestId: 'req_3', ended: true, part: null, returned: false },
    ]);
    const results = await store.results('batch_1', 0, 10);
    assert.deepEqual(
      results.map(({ seq, state, result }) => [seq, state, Buffer.from(result).toString()]),
      [
        [1, 'succeeded', 'result 1'],
        [3, 'errored', 'result 3'],
      ],
    );
    const { total, succeeded, errored, countedMs } = (await store.findBatch('dev/test', 'batch_1', 100))!;
    assert.deepEqual([total, succeeded, errored, countedMs], [5, 1, 1, 110]);
  });

  told('lines that are at a provider come back with an answer, or are released', async (store, other) => {
    await store.createBatch(batch('batch_1'), 10);
    await store.lease('a', 100, 200, 5);
    const lease = { id: 'batch_1', worker: 'a' };
    const lost = { ...lease, worker: 'b' };
    await store.note(lease, [begun(1, 'key 1', 0), begun(2, 'key 2', 0), begun(3, 'key 3', 1), begun(4)], []);
    const answers = [1, 2, 3, 4].map((seq) => ({ seq, requestId: `req_${seq}`, answer: bytes(`answer ${seq}`) }));
    const stranger = { ...answers[1]!, requestId: 'req_other' };
    assert.equal(await store.returned(lost, 0, answers), false);
    assert.equal(await store.returned(lease, 0, [answers[0]!, stranger, answers[2]!, answers[3]!]), true);
    assert.equal(await store.releaseLines(lost, 0), false);
    assert.equal(await store.releaseLines(lease, 0), true);
    const [one, two, three, four] = await other.lines('batch_1', 0, 10);
    assert.deepEqual([one!.part, one!.returned, one!.ended], [0, true, false]);
    assert.deepEqual([two!.part, two!.returned], [null, false]);
    assert.deepEqual([three!.part, three!.returned], [1, false]);
    assert.deepEqual([four!.part, four!.returned], [null, false]);
    assert.equal(Buffer.from((await store.returnedLine('batch_1', 1))!).toString(), 'answer 1');
    assert.equal(await store.returnedLine('batch_1', 2), null);
    assert.deepEqual(await store.results('batch_1', 0, 10), []);
    await store.note(lease, [], [ended(1)]);
    assert.equal(await store.returned(lease, 0, answers), true);
    assert.equal((await store.lines('batch_1', 0, 10))[0]!.ended, true);
  });

  told('what lines at providers will use is known of a whole account, until the batch ends', async (store) => {
    for (const id of ['batch_1', 'batch_2']) {
      await store.createBatch(batch(id), 10);
      await store.lease('a', 100, 200, 5);
      const away = { facts: bytes('parts'), expected: { tokens: 70, usdNano: 5e12 }, aheadSucceeded: 3 };
      assert.equal(await store.away({ id, worker: 'b' }, away), false);
      assert.equal(await store.away({ id, worker: 'a' }, away), true);
    }
    assert.deepEqual(await store.expected('dev'), { tokens: 140, usdNano: 1e13 });
    assert.deepEqual(await store.expected('other'), { tokens: 0, usdNano: 0 });
    const found = (await store.findBatch('dev/test', 'batch_1', 100))!;
    assert.deepEqual([found.aheadSucceeded, Buffer.from(found.facts).toString()], [3, 'parts']);
    const end = { ending: 'completed', atMs: 400, expiresMs: 500, outputFile: null, errorFile: null } as const;
    await store.end({ id: 'batch_1', worker: 'a' }, { ...end, facts: null });
    assert.deepEqual(await store.expected('dev'), { tokens: 70, usdNano: 5e12 });
  });

  told('a batch ends once; its lines go then, and itself when its time is over', async (store) => {
    await store.createBatch(batch('batch_1'), 10);
    await store.lease('a', 100, 200, 5);
    const lease = { id: 'batch_1', worker: 'a' };
    await store.note(lease, [begun(1)], [ended(1)]);
    await store.cancel('dev/other', 'batch_1', 120);
    await store.cancel('dev/test', 'batch_1', 130);
    await store.cancel('dev/test', 'batch_1', 140);
    assert.equal(await store.removeLines(10), 0);
    const end = {
      ending: 'cancelled',
      atMs: 150,
      expiresMs: 500,
      outputFile: 'file-o',
      errorFile: null,
      facts: null,
    } as const;
    assert.equal(await store.end(lease, end), true);
    assert.equal(await store.end(lease, end), false);
    const found = (await store.findBatch('dev/test', 'batch_1', 200))!;
    assert.deepEqual(
      [found.ending, found.cancellingMs, found.endedMs, found.outputFile],
      ['cancelled', 130, 150, 'file-o'],
    );
    assert.equal(Buffer.from(found.facts).toString(), 'facts');
    assert.equal(await store.removeExpired(500), 0);
    assert.equal(await store.removeLines(10), 1);
    assert.equal(await store.removeLines(10), 0);
    assert.equal(await store.findBatch('dev/test', 'batch_1', 500), null);
    assert.equal(await store.removeExpired(499), 0);
    assert.equal(await store.removeExpired(500), 1);
  });

  told('only a batch that has ended is removed, with its lines', async (store) => {
    await store.createBatch(batch('batch_1'), 10);
    await store.lease('a', 100, 200, 5);
    const lease = { id: 'batch_1', worker: 'a' };
    await store.note(lease, [begun(1)], [ended(1)]);
    await store.removeBatch('dev/test', 'batch_1');
    assert.notEqual(await store.findBatch('dev/test', 'batch_1', 200), null);
    assert.equal((await store.lines('batch_1', 0, 10)).length, 1);
    const end = {
      ending: 'completed',
      atMs: 150,
      expiresMs: 500,
      outputFile: null,
      errorFile: null,
      facts: bytes('more'),
    } as const;
    await store.end(lease, end);
    assert.equal(Buffer.from((await store.findBatch('dev/test', 'batch_1', 200))!.facts).toString(), 'more');
    await store.removeBatch('dev/other', 'batch_1');
    assert.notEqual(await store.findBatch('dev/test', 'batch_1', 200), null);
    await store.removeBatch('dev/test', 'batch_1');
    assert.equal(await store.findBatch('dev/test', 'batch_1', 200), null);
    assert.equal((await store.lines('batch_1', 0, 10)).length, 0);
  });
}
