import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { listenAndKeep, send, testTransport } from '../../../test/loopback-transport.ts';

/** With characters that become CR, LF or NUL once written as latin1. */
const text = fc.string({
  unit: fc.constantFrom(...'ab: ;/?#\r\n\0\t\v\x7f\x85\xa0\xe9č\u010a\u0100\u2028\ud800'),
  maxLength: 6,
});

test('S23 whatever path and headers hold, a request is one line each as it goes over the wire, or is not written', async (t) => {
  const { origin, heads } = await listenAndKeep(t, 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  const transport = testTransport(t);
  await fc.assert(
    fc.asyncProperty(text, fc.array(fc.tuple(text, text), { maxLength: 3 }), async (path, pairs) => {
      const headers = pairs.flatMap(([name, value]) => [`x${name}`, value]);
      heads.length = 0;
      const told = send(transport, origin, { path: `/${path}`, headers, body: 'body' });
      const end = await told.end;
      if (end !== 'ended') {
        assert.equal(end.kind, 'protocol');
        assert.deepEqual(heads, []);
        return;
      }
      assert.equal(heads.length, 1);
      const [first, host, connection, ...lines] = heads[0]!.split(/\r\n|\r|\n/);
      const written = [`POST /${path} HTTP/1.1`, `host: ${new URL(origin).host}`, 'connection: keep-alive'];
      assert.deepEqual([first, host, connection], written);
      const given = pairs.map(([name, value]) => `x${name}: ${value}`);
      assert.deepEqual(lines, [...given, 'accept-encoding: identity', 'content-length: 4', '', '']);
      assert.equal(first!.split(' ').length, 3);
    }),
    { numRuns: 300 },
  );
  assert.equal(transport.counts.running, 0);
});
