import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKey, type TestGateway } from '../start-gateway.ts';
import { vectorEngines } from '../vector-engines.ts';

/* Ids of posts and of chats are whole numbers of 64 bits, which a float cannot hold. */

const far = '1234567890123456789';

interface Found {
  hits: unknown[];
  points: { id: number }[];
  groups: { id: number; hits: unknown[] }[];
}

function opened(gateway: TestGateway) {
  const call = async (method: string, path: string, body?: string) => {
    const answer = await gateway.fetch(`/v1/vectors/collections/c${path}`, {
      method,
      ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
    });
    const text = await answer.text();
    assert.equal(answer.status, 200, `${path}: ${text}`);
    return text;
  };
  return { gateway, call };
}

for (const [engine, open] of Object.entries(vectorEngines)) {
  test(`${engine}: whole numbers of payloads keep all their digits, through changes and parts, too`, async (t) => {
    const { gateway, call } = opened(await open(t));
    await call('PUT', '', '{"vectors": {"size": 2, "distance": "Dot"}}');
    const payload = `{"post": ${far}, "in": {"list": [-${far}, 1.5, "${far}"]}, "float": 1e300, "n": 7}`;
    await call('PUT', '/points?wait=true', `{"points": [{"id": 1, "vector": [1, 0], "payload": ${payload}}]}`);
    const columns = `{"ids": [2], "vectors": [[0, 1]], "payloads": [{"post": ${far}}]}`;
    await call('PUT', '/points?wait=true', `{"batch": ${columns}}`);

    const stored = `"post":${far},"in":{"list":[-${far},1.5,"${far}"]},"float":1e+300,"n":7`;
    assert.ok((await call('GET', '/points/1')).includes(`{${stored}}`), await call('GET', '/points/1'));
    assert.ok((await call('GET', '/points/2')).includes(`{"post":${far}}`));
    const found = await call(
      'POST',
      '/points/query',
      '{"query": [1, 0], "limit": 1, "with_payload": ["post", "in.list"]}',
    );
    assert.ok(found.includes(`{"post":${far},"in":{"list":[-${far},1.5,"${far}"]}}`), found);

    const set = `{"payload": {"reply": ${far}1, "deep": {"a": [${far}]}}, "points": [1]}`;
    await call('POST', '/points/payload?wait=true', set);
    await call('POST', '/points/payload?wait=true', '{"payload": {"x": 1}, "key": "post", "points": [2]}');
    await call('POST', '/points/payload/delete?wait=true', '{"keys": ["n", "post.x"], "points": [1]}');
    const changed = await call('GET', '/points/1');
    assert.ok(
      changed.includes(
        `"post":${far},"in":{"list":[-${far},1.5,"${far}"]},"float":1e+300,"reply":${far}1,"deep":{"a":[${far}]}`,
      ),
      changed,
    );
    assert.ok(
      (await call('GET', '/points/2')).includes('{"post":{"x":1}}'),
      'a number in the way of a key is one no more',
    );

    const exported = await fetch(`${gateway.url}/admin/v1/vectors/export.jsonl?tenant=dev/test`, {
      headers: { authorization: `Bearer ${adminKey}` },
    });
    assert.ok((await exported.text()).includes(`"post":${far},"in"`));
  });

  test(`${engine}: a number that no float holds is refused, not written as null`, async (t) => {
    const { gateway, call } = opened(await open(t));
    await call('PUT', '', '{"vectors": {"size": 2, "distance": "Dot"}}');
    for (const [number, status] of [
      ['1e400', 400],
      ['1e300', 200],
    ] as const) {
      const body = `{"points": [{"id": 1, "vector": [1, 0], "payload": {"a": null, "in": [{"far": ${number}}]}}]}`;
      const headers = { 'content-type': 'application/json' };
      const answer = await gateway.fetch('/v1/vectors/collections/c/points', { method: 'PUT', body, headers });
      const { error } = (await answer.json()) as { error?: { param: string } };
      assert.deepEqual([answer.status, error?.param], [status, status === 400 ? 'points[0].payload' : undefined]);
    }
  });

  test(`${engine}: points with numbers beyond a float's are in orders, facets and groups`, async (t) => {
    const { call } = opened(await open(t));
    await call('PUT', '', '{"vectors": {"size": 2, "distance": "Dot"}}');
    const point = (id: number, post: string) => `{"id": ${id}, "vector": [1, ${id}], "payload": {"post": ${post}}}`;
    const points = [point(1, far), point(2, far), point(3, '7'), point(4, `[${far}, 8]`)];
    await call('PUT', '/points?wait=true', `{"points": [${points.join()}]}`);
    const result = async (path: string, body: object) =>
      (JSON.parse(await call('POST', path, JSON.stringify(body))) as { result: never }).result as Found;
    const facet = await result('/facet', { key: 'post' });
    assert.deepEqual(facet.hits[0], { value: Number(far), count: 3 });
    const ordered = await result('/points/scroll', { order_by: { key: 'post', direction: 'desc' }, limit: 10 });
    assert.deepEqual(
      [
        ordered.points
          .slice(0, 3)
          .map(({ id }) => id)
          .sort(),
        ordered.points.slice(3).map(({ id }) => id),
      ],
      [
        [1, 2, 4],
        [4, 3],
      ],
    );
    const asked = { query: { order_by: 'post' }, group_by: 'post', limit: 10, group_size: 10 };
    const { groups } = await result('/points/query/groups', asked);
    assert.deepEqual(groups.map(({ id, hits }) => [id, hits.length]).sort(), [
      [Number(far), 3],
      [7, 1],
      [8, 1],
    ]);
  });
}
