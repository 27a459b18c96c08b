import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway } from '../start-gateway.ts';

/* Pages of lists begin behind or before an id. One that no such list can have shown is a 400 that names its field. */

test('a place that was made up is refused by every list, and names its field', async (t) => {
  const gateway = await startGateway(t, { vectors: { stores: { files: 8 } } });
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await gateway.fetch(path, { headers });
    return { status: answer.status, body: (await answer.json()) as JsonObject & { error: JsonObject } };
  };
  const anthropic = { 'anthropic-version': '2023-06-01' };
  const lists: [path: string, fields: readonly string[], headers?: Record<string, string>][] = [
    ['/v1/vector_stores', ['after', 'before']],
    ['/v1/files', ['after']],
    ['/v1/batches', ['after']],
    ['/v1/files', ['after_id', 'before_id', 'page'], anthropic],
    ['/v1/messages/batches', ['after_id', 'before_id'], anthropic],
    ['/v1/models', ['after_id', 'before_id'], anthropic],
    ...['files', 'batches', 'cachedContents'].map((name): (typeof lists)[number] => [`/v1beta/${name}`, ['pageToken']]),
  ];
  for (const [path, fields, headers] of lists) {
    assert.equal((await get(path, headers)).status, 200, path);
    for (const field of fields) {
      for (const id of ['made_up', 'x'.repeat(500), ...(field === 'pageToken' ? [] : [''])]) {
        const { status, body } = await get(`${path}?${field}=${id}`, headers);
        assert.equal(status, 400, `${path}?${field}=${id}`);
        assert.match(String(body.error.message), new RegExp(`^'${field}' names nothing of this list`));
        assert.ok(String(body.error.message).length < 200);
      }
    }
  }
});

test('files are deleted while they are listed, page by page, in both formats', async (t) => {
  const gateway = await startGateway(t);
  for (const [field, headers] of [
    ['after', {}],
    ['after_id', { 'anthropic-version': '2023-06-01' }],
  ] as const) {
    for (let at = 0; at < 3; at++) {
      const form = new FormData();
      form.set('file', new Blob([`${at}`]), `${at}.txt`);
      form.set('purpose', 'user_data');
      assert.equal((await gateway.fetch('/v1/files', { method: 'POST', body: form })).status, 200);
    }
    let last = '';
    for (let left = 3; left > 0; left--) {
      const behind = last === '' ? '' : `&${field}=${last}`;
      const page = (await (await gateway.fetch(`/v1/files?limit=1${behind}`, { headers })).json()) as JsonObject;
      assert.equal(page.has_more, left > 1);
      last = String(page.last_id);
      assert.equal((await gateway.fetch(`/v1/files/${last}`, { method: 'DELETE' })).status, 200);
    }
  }
});
