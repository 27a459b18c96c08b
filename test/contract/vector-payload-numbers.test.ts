import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKey } from '../start-gateway.ts';
import { vectorEngines } from '../vector-engines.ts';

/* Ids of posts and of chats are whole numbers of 64 bits, which a float cannot hold. */

for (const [engine, open] of Object.entries(vectorEngines)) {
  test(`${engine}: whole numbers of payloads keep all their digits, through changes and parts, too`, async (t) => {
    const gateway = await open(t);
    const call = async (method: string, path: string, body?: string) => {
      const answer = await gateway.fetch(`/v1/vectors/collections/c${path}`, {
        method,
        ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
      });
      const text = await answer.text();
      assert.equal(answer.status, 200, `${path}: ${text}`);
      return text;
    };
    const far = '1234567890123456789';
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
}
